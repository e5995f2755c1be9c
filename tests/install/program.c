#include <attsvm/attsvm.h>
#include <stdio.h>

int main(void)
{
    double X[] = { 1, 0, 0, 0, 0, 1, 0, 0 }; /* two sequences of two tokens in the plane */
    attsvm_named_array arrays[] = { { "X", { X, { 2, 2, 2 }, 3, ATTSVM_F64 } } };
    attsvm_error err;
    attsvm_data *data;
    if (attsvm_data_create(&data, arrays, 1, NULL, &err) != ATTSVM_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    printf("attsvm %s: %d tokens\n", attsvm_version(), (int)attsvm_data_describe(data).tokens);
    attsvm_data_free(data);
    return 0;
}
