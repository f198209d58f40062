package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestStreamOfDeclaredCodes releases messages of every format whose kind has a declared code for missing values: kept,
// it leaves as it is beside the categories that a mask draws, and in a column that no mask changes; as null, the
// message has no kind. No output has any canary.
func TestStreamOfDeclaredCodes(t *testing.T) {
	t.Parallel()
	for name, format := range map[string]func(*testing.T, *stand) *canaryFormat{
		"json": canaryJSON, "avro": canaryAvro, "protobuf": canaryProtobuf, "arrow": canaryArrow,
	} {
		for _, as := range []string{"keep", "null"} {
			for mask, masks := range map[string]string{
				"drawn":    `masks: [{noise: {columns: [wage], sd: 5000}}, {pram: {columns: [kind], keep: 0.5, categories: [b, c]}}]`,
				"unmasked": `masks: [{noise: {columns: [wage], sd: 5000}}]`,
			} {
				t.Run(name+"/"+as+"/"+mask, func(t *testing.T) {
					t.Parallel()
					s, f := canaryStand(t, format)
					columns := fmt.Sprintf(
						`columns: {name: {role: identifier}, wage: {role: sensitive, decimals: 2, missing: [-9]}, kind: {role: other, missing: {codes: [a], as: %s}}}`, as)
					sink := `{kafka: {brokers: ["BROKER"], topic: out}}`
					if f.registry != nil && mask == "drawn" {
						sink = `{kafka: {brokers: ["BROKER"], topic: out, format: {json: {}}}}` // seen below
					}
					s.file("pipeline.yaml", s.canaryText(f, ", until: latest", sink, masks, columns))
					stdout, stderr := s.run(exitQuarantined, "run", "-v", "--progress", "json", "pipeline.yaml")
					checkStreamCanaries(t, "stdout", []byte(stdout), true)
					checkStreamCanaries(t, "stderr", []byte(stderr), true)
					data, err := os.ReadFile(filepath.Join(s.dir, "out", "report.json"))
					if err != nil {
						t.Fatal(err)
					}
					var report struct {
						Records struct{ Released int64 }
						Missing []struct {
							Column, As string
							Codes      []struct {
								Code    string
								Records int64
							}
						} `json:"missing_codes"`
						Warnings []string
					}
					if err := json.Unmarshal(data, &report); err != nil {
						t.Fatal(err)
					}
					// Kinds are a, b and c in turn: 134 of 400 are a. Valid records in an Arrow message with broken ones are kept.
					if m := report.Missing; len(m) != 2 || m[1].Column != "kind" || m[1].As != as || m[1].Codes[0].Records < 134 ||
						m[1].Codes[0].Records > 137 || m[0].Codes[0].Records != 0 {
						t.Errorf("the codes are counted as %+v", m)
					}
					codes := 0
					for _, r := range s.checkTopic("out", len(f.good), true) {
						codes += bytes.Count(r.Value, []byte(`"kind":"a"`))
					}
					if want := map[string]int{"keep": 134, "null": 0}[as]; (name == "json" || f.registry != nil && mask == "drawn") &&
						codes != want {
						t.Errorf("%d messages have the code, want %d", codes, want)
					}
					s.checkOutput()
				})
			}
		}
	}
}
