package rumap

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/sdlfilter/sdlfilter/assess"
)

// JSONSchema returns the JSON Schema of map.json, made from the Go types. The file
// map.schema.json beside this one is kept equal to it by a test.
func JSONSchema() ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t != reflect.TypeFor[assess.Float]() {
				return nil
			}
			return &jsonschema.Schema{Description: "a number; infinite values are words, what is not a number is null",
				OneOf: []*jsonschema.Schema{{Type: "number"}, {Enum: []any{"Infinity", "-Infinity"}}, {Type: "null"}}}
		},
		LookupComment: func(t reflect.Type, field string) string { return said[t.Name()+"."+field] },
	}
	s := r.Reflect(&Map{})
	s.ID = "sdlfilter.map.schema.json"
	s.Title = "R-U confidentiality map of one column, by sdlfilter"
	properties := s.Definitions["Map"].Properties
	if head, ok := properties.Get("schema"); ok {
		head.Const = Schema
	}
	if recommended, ok := properties.Get("recommended"); ok {
		reference := *recommended
		properties.Set("recommended", &jsonschema.Schema{Description: said["Map.recommended"],
			OneOf: []*jsonschema.Schema{{Ref: reference.Ref}, {Type: "null"}}})
	}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("map schema: %w", err)
	}
	return append(out, '\n'), nil
}

// said describes members in the schema, by type and member ("" is the type).
var said = map[string]string{
	"Map.":                             "an R-U confidentiality map on data; R and U are in 1/(unit of the column)²; confidential",
	"Map.schema":                       "what this object is",
	"Map.name":                         "name of the pipeline",
	"Map.version":                      "version of the program",
	"Map.replicates":                   "M, masked replicates of every point",
	"Map.records":                      "records in the data",
	"Map.margin":                       "Monte-Carlo standard errors of R that a limit must leave",
	"Map.sampled":                      "records of the keyed sample that replicates were made on; absent where they were made on all",
	"Map.part":                         "about how many of these records each replicate was made on, all of them in turn; absent where each was made on all",
	"Map.by":                           "columns that R and U are also given by",
	"Map.U0":                           "utility of the unmasked data, n/S²",
	"Map.axes":                         "parameters that run over a range",
	"Map.rules":                        "the gate's limits on this column",
	"Map.points":                       "choices of all parameters",
	"Map.recommended":                  "the admissible point of greatest utility; null where there is none",
	"Map.reason":                       "what prevents a recommendation",
	"Axis.path":                        "place of the parameter in the configuration",
	"Axis.relative":                    "whether values are fractions of the column's standard deviation",
	"Rule.target":                      "absent: every target",
	"Rule.knowledge":                   "absent: every knowledge state",
	"Point.strategy":                   "configured, or the name of a strategy",
	"Point.parameters":                 "by path; only those that run over a range",
	"Point.efficiency":                 "U/U0",
	"Point.U":                          "data utility 1/E(μ̂ − μ)², expected over replicates",
	"Point.U_se":                       "Monte-Carlo standard error of U",
	"Point.bias":                       "expected shift of the mean",
	"Point.admissible":                 "whether every rule holds",
	"Point.broken":                     "rules that do not hold",
	"Point.groups":                     "the same by group",
	"Point.worst":                      "the group of the greatest R among what the rules protect",
	"Broken.rule":                      "index in rules",
	"Broken.found":                     "R, RMSE or efficiency, as the rule's limit",
	"Broken.held_back":                 "it holds on the replicates of the map, not on those held back",
	"Rule.min_rmse":                    "the same as a greatest R of 1/min_rmse²",
	"Risk.target":                      "typical, min, p01, …, max",
	"Risk.knowledge":                   "mean, index or position",
	"Risk.R":                           "disclosure risk 1/E(τ − τ̂)²",
	"Risk.R_se":                        "Monte-Carlo standard error of R",
	"Risk.rmse":                        "√(1/R), in the column's unit",
	"Group.values":                     "of the columns in by",
	"Group.records":                    "masked in a replicate",
	"Recommended.point":                "index in points",
	"Recommended.binding":              "what keeps the next better point from being admissible",
	"Recommended.held_back_replicates": "further replicates, not used in choosing, on which the rules were found to hold",
	"Binding.rule":                     "index in rules",
}
