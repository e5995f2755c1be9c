/*
 * learn/samples: input of classifiers from files: bags with any labels, texts with their vocabulary
 * and word vectors, images cut into patches.
 */
#ifndef ATTSVM_LEARN_SAMPLES_H
#define ATTSVM_LEARN_SAMPLES_H

#include "io/io.h"
#include "learn/learn.h"

struct attsvm_samples {
    attsvm_samples_info info;
    attsvm_data *data;
    attsvm_archive *archive; /* bags: the file behind the data */
    int64_t *label;          /* (n) or NULL                    */
    char **class_name;       /* (info.classes)                 */
    int64_t *fold;           /* (repeats,n) or NULL            */
    char **word;             /* (info.words) vocabulary        */
    int32_t *tokens;         /* (N) indices into it            */
    int64_t *offsets;        /* (n+1)                          */
    int32_t vocabulary;      /* info.words, as an array        */
    float *table;            /* (words, embedded)              */
};

/* Labels by name: classes in sorted order (numbers by value), or those of the model; NULL and
   labels unknown to the model are -1. */
attsvm_status samples_classes(attsvm_samples *s, const char *const *label, int64_t n,
                              const attsvm_classifier *model, attsvm_error *err);
/* Bags of an archive; takes ownership of it. */
attsvm_status samples_bags(attsvm_samples *s, const char *path,
                           const attsvm_samples_settings *settings, const attsvm_classifier *model,
                           attsvm_error *err);
/* Texts (n), each with a label or NULL. */
attsvm_status samples_texts(attsvm_samples *s, const char *const *text, const char *const *label,
                            int64_t n, const attsvm_samples_settings *settings,
                            const attsvm_classifier *model, attsvm_error *err);

/* ------------------------------------------------------------------------------- lines */

/* Texts and labels of a file; both point into `bytes`. */
typedef struct samples_lines {
    char *bytes;
    const char **text, **label; /* label[k] NULL: none */
    int64_t count;
    size_t capacity, label_capacity;
} samples_lines;

/* Whether the file contains texts, by its name or its header. */
attsvm_status samples_is_text(const char *path, bool *out, attsvm_error *err);
attsvm_status samples_lines_read(samples_lines *out, const char *path, attsvm_error *err);
/* The same of what such a file holds. */
attsvm_status samples_lines_parse(samples_lines *out, const char *bytes, size_t size,
                                  attsvm_error *err);
void samples_lines_free(samples_lines *lines);

/* ------------------------------------------------------------------------------- words */

enum { SAMPLES_LONGEST_WORD = 256 }; /* bytes; the rest of a longer word is cut off */

/* The next word of *text (UTF-8, valid), lower-cased, into `word`; false at the end. */
bool samples_next_word(const char **text, char word[SAMPLES_LONGEST_WORD]);

/* Words and their indices: a hash table over a list that owns its words. */
typedef struct samples_vocabulary {
    char **word;
    int64_t count;
    size_t capacity;
    int64_t *slot; /* (slots) index + 1, 0: empty */
    int64_t slots;
} samples_vocabulary;

attsvm_status samples_vocabulary_open(samples_vocabulary *v, attsvm_error *err);
void samples_vocabulary_close(samples_vocabulary *v);
/* Index of a word; -1 if it is not in the vocabulary. */
int64_t samples_vocabulary_find(const samples_vocabulary *v, const char *word, size_t size);
/* Index of a word, which is added if it is new. */
attsvm_status samples_vocabulary_add(samples_vocabulary *v, const char *word, int64_t *place,
                                     attsvm_error *err);

/* Vectors of the words of v: rows (count x columns) in the order of v; has (count) tells which
   words the file contains.  The caller frees both. */
attsvm_status samples_vectors_read(const char *path, const samples_vocabulary *v, float **rows,
                                   bool **has, int64_t *columns, attsvm_error *err);

#endif
