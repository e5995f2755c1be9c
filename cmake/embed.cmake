# Turns text files into a C table: cmake -D OUT=file.c -D ROOT=dir -D "FILES=a;b" -P embed.cmake
set(arrays "")
set(table "")
set(number 0)
foreach(file ${FILES})
    file(READ ${ROOT}/${file} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
    string(APPEND arrays "static const unsigned char file_${number}[] = {\n${bytes}0 };\n")
    string(APPEND table "    { \"${file}\", (const char *)file_${number}, sizeof file_${number} - 1 },\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/embed.cmake. */\n#include \"experiments/experiments.h\"\n\n${arrays}\n"
     "const experiments_file experiments_files[] = {\n${table}    { 0 },\n};\n")
