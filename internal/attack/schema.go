package attack

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
)

// JSONSchema returns the JSON Schema of an attack's JSON, made from the Go types. The
// file attack.schema.json beside this one is kept equal to it by a test.
func JSONSchema() ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous: true,
		Namer:     schemaName,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch {
			case t.Kind() == reflect.Float64:
				return &jsonschema.Schema{Description: "a number; infinite values are words, what is not a number is null",
					OneOf: []*jsonschema.Schema{{Type: "number"}, {Enum: []any{"Infinity", "-Infinity"}}, {Type: "null"}}}
			case t == reflect.TypeFor[linkage.Distance]():
				s := &jsonschema.Schema{Type: "string"}
				for d := linkage.Standardised; d <= linkage.Ranks; d++ {
					s.Enum = append(s.Enum, d.String())
				}
				return s
			}
			return nil
		},
		LookupComment: func(t reflect.Type, field string) string { return said[schemaName(t)+"."+field] },
	}
	s := r.Reflect(&Result{})
	s.ID = "sdlfilter.attack.schema.json"
	s.Title = "What an intruder finds in a release, by sdlfilter"
	if head, ok := s.Definitions[schemaName(reflect.TypeFor[Result]())].Properties.Get("schema"); ok {
		head.Const = Schema
	}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("attack schema: %w", err)
	}
	return append(out, '\n'), nil
}

// schemaName tells types of one name apart: the parts' results are all called Result.
func schemaName(t reflect.Type) string {
	folder := path.Base(t.PkgPath())
	if folder == "." || folder == "attack" || t.Name() == "" {
		return t.Name()
	}
	return strings.ToUpper(folder[:1]) + folder[1:] + t.Name()
}

// said describes members in the schema, by type and member ("" is the type).
var said = map[string]string{
	"Result.":               "what an intruder finds in a release; parts that were not asked for are absent; confidential",
	"Result.schema":         "what this object is",
	"Result.targets":        "respondents sought by linkage and by the Bayesian intruder",
	"Result.records":        "records of the release",
	"Result.sampled":        "records of the release that the attack was computed on; absent where it was all of them",
	"Result.keys":           "numeric columns that the intruder knows",
	"Result.categorical":    "categorical columns that linkage by Gower's distance compares beside keys",
	"Result.interval":       "share of records with every original value within so many SDs of the released column of the released value, by width; says nothing about identity disclosure",
	"Result.interval_sound": "the same in SDs of the original column, without what was suppressed",
	"Result.utility":        "what the masking has cost",
	"Result.averaging":      "what the mean of several releases gives away",
	"Result.inversion":      "what is computed back by whoever knows the list of masks and what was published",

	"LinkageResult.expected_correct":   "targets linked to their own record, ties sharing the credit",
	"LinkageResult.correct_share":      "of the targets",
	"LinkageResult.one_to_one_correct": "the same for the optimal assignment of each target to a record of its own",

	"IntruderResult.knowledge":                       "d.1: variances of bias and noise are known; d.2: they have priors",
	"IntruderResult.threshold":                       "a link is made where the greatest posterior exceeds it",
	"IntruderResult.correct":                         "correct links, ties sharing the credit",
	"IntruderResult.links":                           "links made",
	"IntruderResult.expected_correct":                "what the intruder himself expects to be right of his links",
	"IntruderResult.posterior_of_correct":            "posterior of the true record, over the correct links",
	"IntruderResult.rank":                            "targets whose record has rank 1, 2, … 10, and a later one",
	"IntruderResult.with_record":                     "targets whose true record is known",
	"IntruderResult.expected_outside":                "targets that the intruder expects not to be in the release",
	"IntruderResult.curve":                           "links, precision and recall by threshold",
	"IntruderResult.worst":                           "targets most easily found: index among the targets, index of the record, both from 0",
	"IntruderResult.quadrature":                      "bounds of the error of the integration over priors",
	"IntruderResult.auxiliary":                       "what the intruder learns from units whose records he does not know",
	"IntruderWorst.rank":                             "the mean of the ranks that tied records share",
	"IntruderRankRow.top_ten":                        "posterior of the ten best records together",
	"IntruderRankRow.posterior":                      "of the true record",
	"UniquenessResult.keys":                          "categorical columns whose combinations are counted",
	"UniquenessResult.min_k":                         "least sample frequency: the file is k-anonymous for k up to it",
	"UniquenessResult.violations":                    "records with a sample frequency below k, by k",
	"UniquenessResult.max_individual_risk":           "greatest probability of re-identification of a record",
	"UniquenessResult.combinations":                  "records that are unique on these keys alone",
	"UniquenessHousehold.max_risk":                   "greatest probability that a member of a household is found",
	"UniquenessSUDA2.msus_by_size":                   "minimal sample uniques by their number of keys, from 1",
	"UniquenessSUDA2.contribution":                   "share of the scores that comes from sets with this key",
	"UniquenessDiversity.distinct_min":               "least number of different values in a class of equal keys",
	"UniquenessDiversity.entropy_min":                "least effective number of values, e to the entropy",
	"UniquenessDiversity.recursive_min":              "least l up to which a class is (c,l)-diverse",
	"Averaging.releases":                             "this one, which is the first, and the earlier ones",
	"Averaging.linkage":                              "of this release alone and of the means",
	"AveragedColumn.compared":                        "records with a value in the original and in every release",
	"AveragedColumn.mse":                             "mean squared error of the mean of the first 1, 2, … releases",
	"AveragedColumn.R":                               "disclosure risk 1/mse",
	"AveragedColumn.within":                          "mean variance among the releases",
	"AveragedColumn.limit":                           "the mse that endless releases would leave",
	"AveragedColumn.equal":                           "all releases have the same values: their mean gives away nothing more",
	"InversionResult.passed":                         "nothing was computed back",
	"InversionColumnResult.grid":                     "step of the values, in the column's unit; what is found to within half of it is recovered",
	"InversionColumnResult.guess":                    "share of the most frequent original value",
	"InversionColumnResult.recovered":                "records recovered by inversions that fail the column",
	"InversionColumnResult.beyond_guess":             "share less what guessing finds with as many claims",
	"InversionColumnResult.by":                       "inversion that recovered the most",
	"LossUtility.il1s":                               "sum over the cells of |x−y|/(√2·S)",
	"LossUtility.il1s_per_cell":                      "the same over all cells",
	"LossUtility.eigen":                              "sum of the relative differences of the eigenvalues of the correlation matrix; null where none can be compared",
	"LossUtility.pmse":                               "propensity score: 0 where original and release cannot be told apart, 0.25 where they are for certain",
	"LossUtility.ks":                                 "Kolmogorov-Smirnov distance, by column",
	"LossUtility.wasserstein":                        "Wasserstein distance in the column's unit, by column",
	"LossUtility.regressions":                        "overlap of the confidence intervals of regressions",
	"LinkageAveragingLinkage.single":                 "of this release",
	"LinkageAveragingLinkage.averaged":               "of the means of the releases",
	"InversionInversion.certainty":                   "least probability, given the masks, with which a claim is right; 0 where they do not tell",
	"InversionInversion.chance":                      "greatest share of claims that luck brings",
	"InversionInversion.fails":                       "it fails the column",
	"IntruderCurvePoint.recall":                      "correct links over targets with a record",
	"IntruderCurvePoint.precision":                   "correct links over links",
	"IntruderQuadrature.log_density_error":           "of the logarithm of one key's density",
	"IntruderQuadrature.posterior_error":             "relative, of a posterior",
	"LossOverlap.mean":                               "of the coefficients' overlaps",
	"LossPropensity.ratio":                           "pmse over what fresh draws from the same distribution would give",
	"LossStructure.eigen_left_out":                   "eigenvalues that are 0 but for rounding",
	"LossChange.relative":                            "mean of |x−y|/max(|x|, |y|) over the cells, 0 where both are 0",
	"LossChange.il1":                                 "sum of 100·|x−y|/|x| over the cells with x ≠ 0",
	"LossColumnLoss.change":                          "how far the column's cells have moved",
	"LinkageResult.distance":                         "how the nearness of two records is measured",
	"UniquenessResult.estimator":                     "of the individual risk",
	"UniquenessResult.sample_uniques":                "records that share their keys with no other",
	"UniquenessResult.l_diversity":                   "of each sensitive column",
	"UniquenessResult.l_diversity_multi":             "of the sensitive columns together",
	"UniquenessCombination.uniques":                  "records with a sample frequency below 2 on these keys alone",
	"UniquenessResult.suda2":                         "scores of special uniques",
	"UniquenessResult.household":                     "risk that at least one member of a household is found",
	"UniquenessResult.records":                       "that frequencies are counted among",
	"InversionResult.confidence":                     "probability from which a claim is deterministic",
	"UniquenessSUDA2.max_size":                       "most keys that were combined",
	"InversionColumnResult.records":                  "with an original value",
	"InversionColumnResult.masked":                   "some mask names the column",
	"UniquenessSUDA2.dis_max":                        "greatest probability that a unique match is a correct one, by data intrusion simulation",
	"InversionInversion.claims":                      "values computed",
	"InversionInversion.recovered":                   "claims within half a grid step of the original",
	"InversionInversion.deterministic":               "the intruder knows that the claims are right",
	"UniquenessHousehold.expected_reidentifications": "respondents expected to be found or to live with one who is",
	"UniquenessResult.expected_reidentifications":    "sum of the individual risks",
}
