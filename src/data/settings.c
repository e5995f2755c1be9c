#include "data/data.h"

#define SETTINGS attsvm_read_settings
static const field read_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(threads), FIELD_INT, 0, 4096, 0, "threads that check values; 0: all cores", 0, 0 },
    { F(inflate_limit), FIELD_INT, 1, 1e15, 8589934592.0,
      "most bytes that one compressed array may unpack to", 0, 0 },
    { F(memory), FIELD_INT, 0, 1e18, 0,
      "bytes of mapped tokens that may stay in memory; 0: half of what the machine has", 0, 0 },
    { F(verify), FIELD_BOOL, 0, 1, 0, "check the stored checksums of mapped arrays too", 0, 0 },
};
#undef SETTINGS

const settings_table attsvm_read_table = { "read", read_fields,
                                           sizeof read_fields / sizeof *read_fields,
                                           sizeof(attsvm_read_settings), NULL };

void attsvm_read_settings_init(attsvm_read_settings *settings)
{
    attsvm_settings_init(&attsvm_read_table, settings);
}
