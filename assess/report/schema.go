package report

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
)

// Schema returns the JSON Schema of a report, made from the Go types. The file
// report.schema.json beside this one is kept equal to it by a test.
func Schema() ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous: true,
		Mapper:    mapType,
		LookupComment: func(t reflect.Type, field string) string {
			return said[t.Name()+"."+field]
		},
	}
	s := r.Reflect(&Report{})
	s.ID = "sdlfilter.report.schema.json"
	s.Title = "Report of one run of sdlfilter"
	columns := r.Reflect(&assess.ColumnMeasures{})
	for name, definition := range columns.Definitions {
		if s.Definitions[name] == nil {
			s.Definitions[name] = definition
		}
	}
	if err := addAttack(s); err != nil {
		return nil, fmt.Errorf("report schema: %w", err)
	}
	if head, ok := s.Definitions["Report"].Properties.Get("schema"); ok {
		head.Const = SchemaName
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("report schema: %w", err)
	}
	return append(text, '\n'), nil
}

// attackDefinition names the schema of an attack within that of a report.
const attackDefinition = "Attack"

// addAttack puts the definitions of an attack's own schema beside the report's.
func addAttack(s *jsonschema.Schema) error {
	text, err := attack.JSONSchema()
	if err != nil {
		return err
	}
	var of jsonschema.Schema
	if err := json.Unmarshal(text, &of); err != nil {
		return fmt.Errorf("attack schema: %w", err)
	}
	for name, definition := range of.Definitions {
		if of.Ref == "#/$defs/"+name {
			name = attackDefinition
		}
		if s.Definitions[name] != nil {
			return fmt.Errorf("two definitions are called %s", name)
		}
		s.Definitions[name] = definition
	}
	return nil
}

// mapType gives the schema of types whose JSON form is their own.
func mapType(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[assess.Float]():
		return floatSchema("a number; infinite values are words, what is not a number is null")
	case reflect.TypeFor[Columns]():
		return &jsonschema.Schema{Type: "object", Description: "by column, in the order of the release",
			AdditionalProperties: &jsonschema.Schema{Ref: "#/$defs/ColumnMeasures"}}
	case reflect.TypeFor[attack.Result]():
		return &jsonschema.Schema{Ref: "#/$defs/" + attackDefinition}
	case reflect.TypeFor[Ordered[any]]():
		return &jsonschema.Schema{Type: "object", Description: "parameters by their names in the configuration"}
	case reflect.TypeFor[Ordered[assess.Float]]():
		return &jsonschema.Schema{Type: "object", AdditionalProperties: floatSchema("in the column's unit")}
	}
	return nil
}

func floatSchema(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Description: description, OneOf: []*jsonschema.Schema{
		{Type: "number"}, {Enum: []any{"Infinity", "-Infinity"}}, {Type: "null"},
	}}
}

// said describes members in the schema, by type and member ("" is the type).
var said = map[string]string{
	"Report.":                                "the account of one run, or of a stream so far; confidential",
	"Report.schema":                          "what this object is",
	"Report.name":                            "name of the pipeline",
	"Report.version":                         "version of the program",
	"Report.config_sha256":                   "SHA-256 of the configuration",
	"Report.key_id":                          "which key made the release; not the key",
	"Report.snapshot":                        "number of the snapshot; absent from the report of a whole run",
	"Report.window":                          "of a snapshot: the part since the last one",
	"Report.sampled":                         "what is exact and what is sampled",
	"Report.attack":                          "whether a respondent can be found again; absent where nobody was sought",
	"Report.identified_by_place":             "records whose identity columns were all null or empty: their place was their identity",
	"Report.withheld":                        "why the release was withheld; absent where it was not",
	"Mask.records":                           "records that the mask changed",
	"Mask.noise_sd":                          "λ of each column in its unit",
	"Moments.sd":                             "with divisor n−1",
	"Utility.U":                              "data utility 1/E(μ̂ − μ)², expected over replicates",
	"Utility.U_se":                           "Monte-Carlo standard error of U; null where there are not two replicates or U is infinite",
	"Utility.realised_U":                     "U of the release itself",
	"Utility.U0":                             "utility of the unmasked data, n/S²",
	"Utility.efficiency":                     "U/U0",
	"Utility.bias":                           "expected shift of the mean",
	"Risk.target":                            "typical, min, p01, …, max",
	"Risk.knowledge":                         "mean, index, position, or order: the records in the order of the source",
	"ColumnMeasures.order":                   "what the order of the source's records tells of a masked column",
	"Order.descents":                         "share of descents among neighbours with different original values, 1/2 in a shuffled file",
	"Order.autocorrelation":                  "lag-1 autocorrelation of the ranks of the original values, 0 in a shuffled file",
	"Order.departs":                          "whether the source departs from a shuffled file",
	"Order.fit":                              "the fit that comes nearest to the original values",
	"Order.shuffled":                         "whether the release has its records in an order of its own",
	"Risk.R":                                 "disclosure risk 1/E(τ − τ̂)², unit 1/(unit of the column)²",
	"Risk.R_se":                              "Monte-Carlo standard error of R; null where there are not two replicates or R is infinite",
	"Risk.rmse":                              "√(1/R), in the column's unit",
	"Risk.realised_R":                        "R of the release itself",
	"Risk.replicates":                        "0 where R is that of the release alone",
	"Risk.sampled":                           "whether R rests on the keyed sample",
	"ColumnMeasures.mean_squared_difference": "mean of (x − y)²",
	"ColumnMeasures.unchanged":               "released values equal to the original; absent where no mask changes the column",
	"ColumnMeasures.unchanged_explained":     "how many of them the law of the masks explains",
	"ColumnMeasures.unchanged_excess":        "whether more values are the original than the law explains",
	"Report.warnings":                        "what the steward should know before the release is used",
	"Correlation.":                           "Pearson correlations over pairwise complete records",
	"RuleVerdict.rule":                       "the rule in words",
	"RuleVerdict.measure":                    strings.Join(assess.Limits, ", ") + " or inversion",
	"RuleVerdict.advice":                     "what would have to change",
	"Sampling.pairs":                         "assessed pairs (original, released)",
	"Sampling.sample":                        "pairs in the keyed sample",
	"Sampling.replicates":                    "M",
}
