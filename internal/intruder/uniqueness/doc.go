// Package uniqueness measures how far respondents stand out by their categorical
// keys: sample frequencies f_k and population estimates F_k, violations of
// k-anonymity, individual and household risk, SUDA2 scores, l-diversity, and the
// number of sample uniques for every small combination of keys.
//
// Keys are columns of codes from 0, −1 where the value is missing; numeric keys are
// coded by the caller, as they are (Codes) or in bins. Nothing here does I/O, and no
// result or error carries a respondent's value.
//
// # Where it departs from the established package
//
// The R package sdcMicro (5.8) is the reference, and the results agree with it to
// 1e-9 where its definition holds. Where it does not:
//
//   - Individual risk, "exact": its alternating sum loses all digits for larger f_k
//     (176 of 4,580 records of its own example are not finite or not within [0, 1])
//     and is undefined where α makes f_k fractional. Here the same expectation is
//     evaluated as an integral, to about 1e-14 for every f_k ≥ 1 and 0 < p ≤ 1. See
//     IndividualRisk.
//   - Individual risk, "approx": it has no case for 1 < f_k < 2 and calls such a
//     record riskless, and above F_k < f_k (weights below 1) it exceeds 1. Here the
//     exact value is taken for the former, p is held at 1 for the latter.
//   - Missing values: a record whose keys are all missing gets f_k = n whatever α is,
//     and adds nothing to complete records. Here it follows the rule that all others
//     follow; see Options.Alpha. The rule itself is the package's.
//   - Household risk: 1 − Π(1 − r) in doubles returns 0 for risks below 1e-16; here
//     it is summed as logarithms.
//   - l-diversity: a missing sensitive value counts as a value in the distinct and
//     the entropy measure but not in the recursive one, and where a key is missing
//     the scan of matching records overwrites its own index and counts the wrong
//     record. Here a missing sensitive value is no value, for none of the measures,
//     and classes are formed by equal keys with missing as a category, which is
//     never larger than the class that an intruder faces. The measures over several
//     sensitive columns together, documented there but returned as 0, are computed.
//   - SUDA2: with original_scores = FALSE a minimal sample unique of all keys scores
//     0, so that a sample unique can pass for none (ScoresIHSN keeps that, for
//     comparison; ScoresElliot is the default). Fewer than three keys are padded with
//     constants; here any number from 1 works. Its DIS estimate is rounded to single
//     precision and agrees to about 1e-7.
package uniqueness
