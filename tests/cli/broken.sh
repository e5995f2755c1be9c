# Files that hold no data set, or a wrong one: status 2, a message that says where, nothing written.
. "$(dirname "$0")/lib.sh" "$@"
Y=Y:int8:2=1,-1
X=X:float64:2,3,2=1,2,3,4,5,6,7,8,9,10,11,12
R=X:float32:5,2=1,2,3

# refuse TEXT ARRAY...: a file of these arrays, whose name is in the message as well
refuse() {
    local text=$1
    shift
    arrays bad.npz "$@"
    bad 2 "bad.npz: " info bad.npz
    bad 2 "$text" info bad.npz --json
    bad 2 "$text" info bad.npz -o converted.npz
    check 'nothing was written' test ! -e converted.npz
}

# -------------------------------------------------------------------------------- tokens
refuse 'no tokens: expected X (n,T,d)' $Y
refuse 'found theta (3,), active (5,2)' theta:float64:3=1 active:int64:5,2=0
refuse 'X and E are both present' $X $Y E:float32:2,2=1 tokens:int32:3=0,1 offsets:int64:3=0,1,3
refuse 'X has shape (4,); expected' X:float32:4=1 $Y
refuse 'X has shape (1,2,3,4); expected' X:float32:1,2,3,4=1 $Y
refuse 'X has shape (0,3,2)' X:float32:0,3,2= Y:int8:0=
refuse 'X has shape (2,0,2)' X:float32:2,0,2= $Y
refuse 'X has shape (2,3,0)' X:float32:2,3,0= $Y
refuse 'X[1,0,1] is NaN; tokens must be finite' X:float64:2,3,2=1,2,3,4,5,6,7,nan,9 $Y
refuse 'X[0,2,0] is +infinity; tokens must be finite' X:float32:2,3,2=1,2,3,4,inf,6 $Y
refuse 'X[3,1] is -infinity' X:float16:4,2=1,2,3,4,5,6,7,-inf offsets:int64:3=0,2,4 $Y
refuse 'E[1,0] is NaN' E:float32:2,2=1,2,nan,4 tokens:int32:3=0,1,0 offsets:int64:3=0,1,3 $Y
refuse 'E has shape (4,); expected (V,d)' E:float32:4=1 tokens:int32:3=0 offsets:int64:3=0,1,3 $Y
refuse 'tokens (N) must index it' E:float32:2,2=1 offsets:int64:3=0,1,3 $Y
refuse 'tokens[2] = 2 is not in 0..1' E:float32:2,2=1 tokens:int32:3=0,1,2 offsets:int64:3=0,1,3 $Y
refuse 'tokens[1] = -1 is not in 0..1' E:float32:2,2=1 tokens:int64:3=0,-1,0 offsets:int64:3=0,1,3 $Y
refuse 'tokens is float32; expected integers' E:float32:2,2=1 tokens:float32:3=0 offsets:int64:3=0,1,3 $Y

# ------------------------------------------------------------------------------- offsets
refuse 'add offsets (n+1), lengths (n) or bags (N)' $R $Y
refuse 'offsets[0] = 1 is not 0' $R $Y offsets:int64:3=1,3,5
refuse 'offsets[2] = 2 is below offsets[1] = 4' $R $Y offsets:int64:3=0,4,2
refuse 'offsets[2] = 4, the last, is not the number of rows of X, 5' $R $Y offsets:int64:3=0,3,4
refuse 'offsets[1] = 3, the last, is not the number of tokens, 5; Y has 2 entries' $R $Y offsets:int64:2=0,3
refuse 'offsets[2] = 6 is beyond the 5 rows of X' $R $Y offsets:int64:3=0,3,6
refuse 'sequence 0 has no token' $R $Y offsets:int64:3=0,0,5
refuse 'offsets has shape (1,)' $R offsets:int64:1=0
refuse 'offsets has shape (3,1)' $R $Y offsets:int64:3,1=0,3,5
refuse 'offsets is float64; expected integers' $R $Y offsets:float64:3=0,3,5
refuse 'offsets must not be given' $X $Y offsets:int64:3=0,3,6

# --------------------------------------------------------------- labels, queries, selections
refuse 'Y[1] = 2 is not a label; labels are -1 and +1, or 0 and 1' $X Y:int8:2=1,2
refuse 'Y[0] = nan is not a label' $X Y:float64:2=nan,1
refuse 'not both' $X Y:int8:2=0,-1
refuse 'Y has shape (3,)' $X Y:int8:3=1
refuse 'Y and y are both present' $X $Y y:int8:2=1
refuse 'Z has shape (2,3); expected (2,2) or (2,M,2)' $X $Y Z:float64:2,3=1
refuse 'Z[1,0] is NaN; queries must be finite' $X $Y Z:float64:2,2=1,2,nan
refuse 'ids[1] = 3 is not in 0..2, the tokens of sequence 1' $X $Y ids:int64:2=0,3
refuse 'ids[0] = -1 is not in 0..2' $X $Y ids:int64:2=-1,0
refuse 'ids has shape (5,)' $X $Y ids:int64:5=0
refuse 'O selects no token of sequence 1' $X $Y O:int8:2,3=1,0,0,0,0,0
refuse 'O[1,1] = 2 is neither 0 nor 1' $X $Y O:int8:2,3=1,0,0,0,2,0

# what is not part of a data set may be anything
arrays fine.npz "$X" $Y theta:float64:2=nan,inf tokens:int32:2=7 v:float64:3=nan
good info fine.npz --json
json ignored '["theta","tokens"]'

# names that would play with a terminal
red=$(printf '\033[31mred\n.')
arrays red.safetensors "$X" $Y "$red:int8:2=1"
good info red.safetensors
check 'no escape comes through' test -z "$(grep "$(printf '\033')" out)"
arrays red.safetensors "$red:int8:2=1"
bad 2 '\x1b[31mred\x0a' info red.safetensors

# ------------------------------------------------------------------------- broken files
bad 2 'missing.npz: ' info missing.npz
: >empty.npz
bad 2 'empty.npz: ' info empty.npz
echo 'no data here' >text.npz
bad 2 'text.npz: ' info text.npz
mkdir directory
bad 2 'directory: ' info directory
bad 2 'is empty' info ''
arrays whole.npz X:float32:200,3,2=1,2,3 Y:int8:200=1,-1
size=$(stat -c %s whole.npz)
for part in 1 4 100 1000 $((size / 2)) $((size - 30)) $((size - 1)); do
    head -c $part whole.npz >cut.npz
    bad 2 'cut.npz: ' info cut.npz
done
# an object array, which would need Python to unpack it
header="{'descr': '|O', 'fortran_order': False, 'shape': (2, 3, 2), }"
printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header" >X.npy
bad 2 "X.npy: its type '|O' means Python objects" info X.npy
# under a name that no data set has, it is ignored
mkdir objects && cp X.npy objects/names.npy
arrays objects/X.npy X:float32:2,3,2=1,2,3
good info objects
says 'ignored   names (cannot be read)'
good info objects --json
json ignored '["names"]'
# shapes that no file can have
for shape in '(9223372036854775807, 9223372036854775807, 2)' '(-1, 3, 2)' '(2, 3, 2, 99999999999)'; do
    header="{'descr': '<f4', 'fortran_order': False, 'shape': $shape, }"
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header" >X.npy
    bad 2 'X.npy: ' info X.npy
done
# a value changed in a stored array is seen by --verify, and only there
arrays large.npz X:float64:30000,3,2=1,2,3 Y:int8:30000=1,-1
cp large.npz flipped.npz
printf '\x01' | dd of=flipped.npz bs=1 seek=500000 conv=notrunc status=none
good info large.npz --verify --json
json verified true
json mapped_bytes 1440000
good info flipped.npz
bad 2 'flipped.npz: ' info flipped.npz --verify
# a compressed array beyond the limit
good generate --n 100 --T 10 --d 20 --deflate -o packed.npz
bad 2 'packed.npz: ' info packed.npz --inflate-limit 1000
good info packed.npz --inflate-limit 161000
finish
