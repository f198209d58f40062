package config_test

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/config"
	_ "github.com/sdlfilter/sdlfilter/internal/formats"
)

// All errors of a pipeline file are reported at once, each with its place. A program outside this
// module registers the formats itself: connectors.Register(csv.Kind).
func ExampleParse() {
	_, err := config.Parse("pipeline.yaml", []byte(`version: 1
key: {env: SDLFILTER_KEY}
source: {csv: {path: wages.csv}}
sink: {csv: {path: released.csv}}
columns:
  wage: {role: sensitive, decimals: 2}
masks:
  - noise: {columns: [wage], sd: -3}
gate:
  rules:
    - {column: wage, min_efficiency: 1.5}
`), config.Options{})
	fmt.Println(err)
	// Output:
	// masks[0].noise.sd: must be at least 0, got -3 (pipeline.yaml:8:34)
	// gate.rules[0].min_efficiency: must be a share from 0 to 1, or a percentage, got the number 1.5; write 0.015 or 1.5% (pipeline.yaml:11:38)
}
