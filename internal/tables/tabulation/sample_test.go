package tabulation

import (
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

const sampledTabulation = `version: 1
source: {csv: {path: in.csv}}
key: {env: RELEASE_KEY}
identity: [id]
tables:
  - {name: counts, rows: [region], unsafe: [{threshold: 3}], protect: {sample: {one_in: 4}}}
  - {name: w, rows: [region], value: wages, unsafe: [{threshold: 3}], protect: {suppress: {}}}
map: {table: counts, methods: [{sample: {one_in: [9, 2, 4]}}]}
sink: {csv: {path: out.csv}}
`

// A sample is read, a map draws all samples that it compares, and the result is written in a form
// that can be read again.
func TestSampledTabulation(t *testing.T) {
	p, err := Parse("t.yaml", []byte(sampledTabulation), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	counts, wages := &p.Tables[0], &p.Tables[1]
	if !p.Keyed() || !slices.Equal(p.Samples(counts), []int{4}) || len(p.Samples(wages)) > 0 || p.NeedsKeys(wages) {
		t.Errorf("keyed %v, samples %v and %v", p.Keyed(), p.Samples(counts), p.Samples(wages))
	}
	if m := p.Mapping(); !slices.Equal(m.Samples(counts), []int{2, 4, 9}) || len(m.Samples(wages)) > 0 {
		t.Errorf("a map draws %v and %v", m.Samples(counts), m.Samples(wages))
	}
	want := []string{"sample: {one_in: 4}", "sample: {one_in: 9}", "sample: {one_in: 2}"}
	if words := candidatesReadAgain(t, p); !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
}

func TestFaultsOfASampledTabulation(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"identity: [id]\n", "", "identity: is required by tables[0].protect.sample"},
		{"{one_in: 4}", "{}", "tables[0].protect.sample.one_in: is required"},
		{"{one_in: 4}", "{one_in: 1}", "tables[0].protect.sample.one_in: must be between 2 and 1000, got 1"},
		{"[region], unsafe: [{threshold: 3}], protect: {sample",
			"[region], value: wages, unsafe: [{threshold: 3}], protect: {sample",
			"tables[0].value: must be left out with sample"},
		{"[region], unsafe", "[region], weight: w, unsafe", "tables[0].weight: must be left out with sample"},
		{"[9, 2, 4]", "[9, 1001]", "map.methods[0].sample.one_in[1]: must be between 2 and 1000, got 1001"},
		{"[9, 2, 4]", "[]", "map.methods[0].sample.one_in: must name at least one number"},
		{"[9, 2, 4]", "[2" + strings.Repeat(", 3", 20) + "]",
			"map.methods[0].sample.one_in: must name at most 20 numbers, got 21"},
		{"table: counts", "table: w", "map.methods[0]: must be suppress: w is no table of counts"},
		{
			"identity: [id]\ntables:\n  - {name: counts, rows: [region], unsafe: [{threshold: 3}], protect: {sample: {one_in: 4}}}", "tables:\n  - {name: counts, rows: [region], unsafe: [{threshold: 3}], protect: {suppress: {}}}", "identity: is required by map.methods[0].sample"},
	} {
		_, err := Parse("t.yaml", []byte(strings.Replace(sampledTabulation, c.from, c.to, 1)), config.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.to, err, c.want)
		}
	}
}
