/* "Did you mean": the nearest name by edit distance. */
#include "cli/cli.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 63 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Ignores case, and treats '-' as '_'. */
static int folded(char letter)
{
    return letter == '_' ? '-' : tolower((unsigned char)letter);
}

/*
 * Insertions, deletions, replacements and swaps of neighbours that turn a into b.
 * D[i][j], for the first i letters of a and j of b, in three rolling rows.
 */
static int distance(const char *a, const char *b)
{
    int rows[3][LONGEST + 1], m = (int)strlen(a), n = (int)strlen(b);
    if (m > LONGEST || n > LONGEST)
        return LONGEST;
    for (int j = 0; j <= n; j++)
        rows[0][j] = j;
    for (int i = 1; i <= m; i++) {
        int *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= n; j++) {
            int differ = folded(a[i - 1]) != folded(b[j - 1]);
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + differ);
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
                folded(a[i - 2]) == folded(b[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return rows[m % 3][n];
}

/* Close: at most every third letter wrong, or one of the two begins with the other. */
void cli_guess_try(cli_guess *guess, const char *candidate)
{
    size_t typed = strlen(guess->typed);
    int apart = distance(guess->typed, candidate), allowed = 1 + (int)typed / 3;
    const size_t length = strlen(candidate), common = typed < length ? typed : length;
    if (common >= (typed > length ? 3 : 2) && strncmp(guess->typed, candidate, common) == 0)
        apart = least(apart, 1);
    if (apart > allowed || (size_t)apart >= length || (guess->best && apart >= guess->distance))
        return;
    guess->best = candidate;
    guess->distance = apart;
}
