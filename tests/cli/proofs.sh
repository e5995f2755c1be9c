# Whatever svm calls optimal, infeasible or stationary, check proves.  Each case is one in which it
# once did not: tokens over many decades, where distances and margins have few digits.
. "$(dirname "$0")/lib.sh" "$@"

# agree [FLAG...]: svm and check agree about data.npz; with a claim the result is valid
agree() {
    run svm data.npz "$@" -o result.npz --json --time-limit 20
    if [ $status -eq 0 ] || grep -q '"status": "infeasible"' out; then
        good check data.npz result.npz
    else
        grep -q '"status": "stalled"' out || problem 'neither a claim nor stalled'
    fi
}

# ------------------------------- the distance to equalities that are nearly parallel was too small
arrays data.npz \
X:float64:1,4,5=1.0000000002587093,0.9999974484208268,0.999999999552721,0.9999999987873999,\
0.9999995399914822,0.9999999984362214,1.0000022319825395,1.000000000271648,1.0000000014621784,\
1.0000006782837363,1.0000000002433296,0.9999988079510735,0.9999999998593622,0.9999999990315221,\
1.000000037373556,0.9999999997473589,1.0000097349501351,0.999999999993074,0.9999999965614281,\
0.9999997413133825 \
O:uint8:1,4,4=0,0,1,1,1,1,1,0,1,1,1,0,1,0,0,0
agree --problem multi --query all --select sets
check 'equalities that are nearly parallel are met' grep -q ': valid' out

# --------------- rows with b = 0 that hold by less than that distance are in doubt as well
arrays data.npz \
X:float64:2,5,3=-263906.52825261577,101158.27013307222,1794094.9389941443,0.009458556211240029,\
-0.02362979973740489,0.028383615650419802,3.0637458991283033,-1.5670399202279954,\
-0.8252973704631176,-1.6612948605915557e-08,-3.6602559064360537e-08,9.305567849885158e-08,\
-1.6434675076475846e-05,4.416548657925409e-05,4.297214935441714e-05,1.457729313824462e-06,\
-2.634542849930147e-06,1.7694119928381276e-05,-886329.6014519252,33618.32713739586,\
-5444548.150938604,509.6493847571898,278.6633628692101,355.678594667942,468440.9078482086,\
-1245882.5995105258,3829920.892422519,6.02624972096132e-07,-3.331153181722185e-06,\
-1.7795779326779004e-06 \
Y:int64:2=-1,1 \
ids:int64:2=0,1
agree --problem joint --norm lq:1.5 --select ids
check 'rows with b = 0 are met' grep -q ': valid' out

# -------------------------------- residuals that double-double takes for 0 although they are not
arrays data.npz \
X:float64:3,3,3=-741640.3322085118,-489745.8376322682,695049.6833150096,-8770540.474370256,\
33136272.074466806,-12546814.854683783,-0.9971516855474908,-1.0125426320060957,\
0.3018946312131066,-246653.30813314093,-151626.05094076617,-398948.9012360359,\
0.03155452690514963,0.01468109136781201,-0.11475979702102475,48556.90006022778,\
-43297.09967650471,-1885.9618450292867,-2.895497550069714e-08,-4.2509290181680345e-09,\
1.4067837952585524e-07,2.3732903477117593e-06,4.9365260438921745e-06,1.301483672318606e-06,\
4944093.159162091,31150395.845345836,-13537219.756071039 \
O:uint8:3,3=0,1,0,0,0,1,0,1,1
agree --problem multi --norm lq:5 --select sets

# -------------------------- shortfalls of soft rows far inside the margin lost digits that count
arrays data.npz \
X:float64:1,5,4=-1069043.1174437643,927526.8647394946,912603.4051195798,-2686705.6619860935,\
-3.046048099393101e-07,2.344545547574676e-07,1.5790999855100332e-06,-1.0242690881201037e-06,\
0.005252311303388016,-0.03936286542574434,-0.01265090960645615,0.033739973265726926,\
97481.1967625175,20099.88324776709,12801.422343330098,-32998.656143759596,9944.014584836104,\
25516.944792683127,25382.99038537713,-16538.810755863055 \
O:uint8:1,5,5=0,0,0,0,1,1,1,0,1,1,0,0,0,1,1,0,1,0,0,0,0,0,0,1,1
agree --problem multi --query all --soft 91838.01210113049 --select sets

# -------------------- stationary within a rank, but rows with multipliers were not tight at theta
arrays data.npz \
X:float32:6,2,5=-2.57654591e-07,-1.38808414e-08,-3.05914e-07,3.26595625e-07,3.17008045e-07,\
4.22359381e-06,7.31373802e-06,6.61280581e-07,5.21752781e-07,1.58653165e-06,7.32706269e-07,\
-9.99085273e-07,3.67433728e-07,-4.06387585e-07,3.78166561e-07,8.99435997,-11.6202936,\
-10.8660679,10.0156517,39.1112556,0.031081954,0.0864659548,-0.0667841807,0.0436138511,\
-0.0227831006,3324295.5,-1004076.38,1057185.38,4138787.5,3409572,593.227966,-38.5839233,\
-596.78656,-1105.31433,-394.452881,7.81188092e-09,-6.08594242e-09,-1.82546311e-09,\
1.38244429e-08,-2.41035067e-08,6080.47363,11916.0322,2321.70215,3860.35278,-16323.8506,\
590174.125,487222.156,-1603181.62,317394.781,-393229.812,-0.110133491,-0.0901649967,\
0.0133308433,0.0508721359,-0.0508141443,12.1802988,12.1198816,1.89093435,22.2215233,43.1067314 \
ids:int64:6=1,1,0,1,1,0
agree --problem W --query last --rank 1 --select ids

# --------------------------------- Newton steps went on for as long as the gap was rounding error
arrays data.npz \
X:float32:1,5,5=-0.0285537746,6.95857452e-05,211.702942,0.00161359913,1868.86011,-0.0176667925,\
7.02540128e-05,1452.06006,-0.0107943574,-1272.20776,0.0237706155,-0.000209598715,767.664795,\
-0.0122294333,-1433.54041,0.0344096199,-5.94181874e-05,2125.03076,0.00525089819,-788.221802,\
0.0297582876,0.000187207406,-1095.22742,-0.0334844925,-5471.01025 \
ids:int64:1=1
agree --problem W --norm spectral --query last --select ids
check 'a solved problem ends' grep -q ': valid' out

# ------------------------------ a query of 0 gives equal logits, whatever softmax values are asked for
arrays zero.npz X:float64:1,2,2=1,0,0,1 Z:float64:1,2=0,0 O:uint8:1,2=1,1 s:float64:1,2=0.75,0.25
for norm in fro nuc l1; do
    run svm zero.npz --problem finite --norm $norm -o zero_result.npz
    says 'infeasible'
    good check zero.npz zero_result.npz --exact
    says ': valid'
done

# ----------------------------------------- a tolerance that no answer can be shown to reach
bad 2 'tol = 1e-300 is below 1e-12, the smallest tolerance in norm spectral' \
    svm data.npz --problem W --norm spectral --select ids --tol 1e-300
bad 2 'tol = 1e-16 is below 1e-15, the smallest tolerance in norm fro' \
    svm data.npz --problem W --norm fro --select ids --tol 1e-16
bad 2 'tol = 1e-15 is below 1e-12, the smallest tolerance of problem finite' \
    svm data.npz --problem finite --select ids --tol 1e-15

finish
