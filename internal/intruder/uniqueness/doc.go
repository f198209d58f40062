// Package uniqueness measures disclosure risk from rare combinations of categorical
// keys: sample frequencies f_k and population estimates F_k, violations of k-anonymity,
// individual and household risk, SUDA2 scores, l-diversity, and the number of sample
// uniques for every small combination of keys.
//
// Keys are columns of codes from 0, −1 where the value is missing; the caller codes
// numeric keys, by value (Codes) or in bins. The package does no I/O, and no result or
// error contains a respondent's value.
//
// # Differences from sdcMicro
//
// The R package sdcMicro (5.8) is the reference. The results agree with it to 1e-9,
// with the following exceptions:
//
//   - Individual risk, "exact": its alternating sum loses all digits for larger f_k
//     (176 of 4,580 records of its own example are not finite or not within [0, 1])
//     and is undefined where α makes f_k fractional. Here the same expectation is
//     evaluated as an integral, to about 1e-14 for every f_k ≥ 1 and 0 < p ≤ 1. See
//     IndividualRisk.
//   - Individual risk, "approx": it has no case for 1 < f_k < 2 and gives such a record
//     risk 0, and it exceeds 1 for F_k < f_k (weights below 1). Here the exact value is
//     used in the first case, and p is limited to 1 in the second.
//   - Missing values: a record whose keys are all missing gets f_k = n for every α and
//     adds nothing to complete records. Here the rule of all other records applies to
//     it; see Options.Alpha. The rule itself is that of sdcMicro.
//   - Household risk: 1 − Π(1 − r) in doubles returns 0 for risks below 1e-16; here
//     it is summed as logarithms.
//   - l-diversity: a missing sensitive value counts as a value in the distinct and
//     the entropy measure but not in the recursive one, and where a key is missing
//     the scan of matching records overwrites its own index and counts the wrong
//     record. Here a missing sensitive value does not count in any of the measures, and
//     classes are formed by equal keys with missing as a category, so that a class is
//     never larger than the class of records that match for an intruder. The measures
//     over several sensitive columns together, which sdcMicro documents but returns as
//     0, are computed.
//   - SUDA2: with original_scores = FALSE a minimal sample unique of all keys scores 0,
//     so that a sample unique can look like a record that is not unique (ScoresIHSN
//     does the same, for comparison; ScoresElliot is the default). sdcMicro pads fewer
//     than three keys with constants; here any number from 1 works. Its DIS estimate is
//     rounded to single precision and agrees to about 1e-7.
package uniqueness
