package tabling

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// MaxCodes is the greatest number of codes of a variable that are read from the records. A
// column with more codes has values or names, and cannot be a variable of a table.
const MaxCodes = 100_000

// mostDecimals is the greatest number of decimals of the values of a table.
const mostDecimals = 9

// survey is what must be read from the records before they can be tabulated.
type survey struct {
	mutex    sync.Mutex
	ways     map[string]map[string][]string // by variable: the paths of codes from the top down, by their joined codes
	columns  map[string][]int               // by variable: the indexes of its columns of codes in a block
	decimals map[string]int                 // by column of floats; -1: more than mostDecimals
	values   map[string]int                 // by the same columns: the index in a block
}

// look reads from the records the codes that no file lists and the decimals that no type
// gives. If there are none to look for it makes no pass.
func (r *records) look(ctx context.Context, progress *pipeline.Progress) (*survey, error) {
	s := &survey{ways: map[string]map[string][]string{}, columns: map[string][]int{}, decimals: map[string]int{},
		values: map[string]int{}}
	for i, t := range r.config.Tables {
		for k, name := range t.Rows {
			r.lookForCodes(s, name, fmt.Sprintf("tables[%d].rows[%d]", i, k))
		}
		if t.Value == "" || t.Decimals != nil {
			continue
		}
		index := r.want(fmt.Sprintf("tables[%d].value", i), t.Value, microdata.Numbers, false)
		if at := r.source.Schema().Index(t.Value); at >= 0 {
			if _, fixed := r.source.Schema().Fields[at].Decimals(); !fixed {
				s.values[t.Value], s.decimals[t.Value] = index, 0
			}
		}
	}
	if err := r.check(); err != nil || !s.passes() {
		return s, err
	}
	if !r.source.Rewindable() {
		return nil,
			config.Errors{
				r.config.Errorf("source",
					"can be read only once, so codes (hierarchies with file or codes) and decimals must be given")}
	}
	if err := r.pass(ctx, "codes", progress, s.add); err != nil {
		return nil, err
	}
	return s, s.check(r)
}

// passes reports whether a pass is needed.
func (s *survey) passes() bool { return len(s.ways)+len(s.values) > 0 }

// lookForCodes has the codes of a variable read from the records, unless a file lists them or
// the variable is already noted. at is the place in the configuration that names the variable.
func (r *records) lookForCodes(s *survey, name, at string) {
	v := r.config.Variable(name)
	if s.ways[name] != nil || v.FromFile() && len(v.Columns) == 0 && len(v.Prefix) == 0 {
		return
	}
	s.ways[name] = map[string][]string{}
	columns := v.Columns
	if len(columns) == 0 || columns[len(columns)-1] != v.Leaf() {
		columns = append(slices.Clone(columns), v.Leaf())
	}
	for j, c := range columns {
		path := at
		if j < len(v.Columns) {
			path = fmt.Sprintf("%s.columns[%d]", form.Join("hierarchies", name), j)
		}
		s.columns[name] = append(s.columns[name], r.want(path, c, microdata.Array, false))
	}
}

// add adds the codes and decimals of a block.
func (s *survey) add(b *microdata.Block) error {
	ways := map[string]map[string][]string{}
	for name, columns := range s.columns {
		ways[name] = waysOf(b, columns)
	}
	decimals := map[string]int{}
	for name, index := range s.values {
		out := b.Columns[index].Out()
		for i := range b.N {
			if !b.Rejected(i) && out.Valid.Has(i) && !b.Columns[index].Coded.Has(i) && decimals[name] >= 0 {
				decimals[name] = decimalsOf(out.Values[i], decimals[name])
			}
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for name, w := range ways {
		if len(s.ways[name]) <= MaxCodes {
			maps.Copy(s.ways[name], w)
		}
	}
	for name, d := range decimals {
		if s.decimals[name] >= 0 && (d < 0 || d > s.decimals[name]) {
			s.decimals[name] = d
		}
	}
	return nil
}

// waysOf returns the different paths of codes from the top down in a block.
func waysOf(b *microdata.Block, columns []int) map[string][]string {
	words, combinations := make([]tabulate.Words, len(columns)), 1
	for i, c := range columns {
		words[i] = tabulate.WordsOf(&b.Columns[c])
		combinations = min(combinations*len(words[i].Texts), mostCombinations+1)
	}
	ways := map[string][]string{}
	first := firsts(words, combinations)
next:
	for row := range b.N {
		if b.Rejected(row) {
			continue
		}
		for _, w := range words {
			if k := w.Places[row]; k < 0 || w.Texts[k] == "" {
				continue next
			}
		}
		if len(ways) > MaxCodes || !first(row) {
			continue
		}
		own, key := make([]string, len(words)), []byte(nil)
		for i, w := range words {
			own[i] = strings.Clone(w.Texts[w.Places[row]])
			key = append(append(key, own[i]...), 0)
		}
		ways[string(key)] = own
	}
	return ways
}

// mostCombinations is the number of combinations of texts up to which they are looked up in a
// list; more of them are in a map.
const mostCombinations = 1 << 16

// firsts returns a function that reports whether a row is the first one, of those that it was
// called with, with its combination of texts.
func firsts(words []tabulate.Words, combinations int) func(row int) bool {
	if combinations <= mostCombinations {
		seen := make([]bool, combinations)
		return func(row int) bool {
			at := 0
			for _, w := range words {
				at = at*len(w.Texts) + int(w.Places[row])
			}
			was := seen[at]
			seen[at] = true
			return !was
		}
	}
	seen, key := map[string]bool{}, make([]byte, 4*len(words))
	return func(row int) bool {
		for i, w := range words {
			binary.LittleEndian.PutUint32(key[4*i:], uint32(w.Places[row]))
		}
		if seen[string(key)] {
			return false
		}
		seen[string(key)] = true
		return true
	}
}

// decimalsOf returns the decimals of a value, or known if that is greater; -1 for more than
// mostDecimals.
func decimalsOf(v float64, known int) int {
	if v-v != 0 {
		return known
	}
	for d := known; d <= mostDecimals; d++ {
		if scale := math.Pow10(d); math.Round(v*scale)/scale == v {
			return d
		}
	}
	return -1
}

func (s *survey) check(r *records) error {
	for _, name := range slices.Sorted(maps.Keys(s.ways)) {
		if len(s.ways[name]) > MaxCodes {
			r.wrong(r.rowPath(name), "has more than %d codes: it is no variable of a table", MaxCodes)
		}
	}
	for i, t := range r.config.Tables {
		if d, looked := s.decimals[t.Value]; looked && d < 0 && t.Decimals == nil {
			r.wrong(fmt.Sprintf("tables[%d].decimals", i), "must be given: values of %s have more than %d decimals", t.Value,
				mostDecimals)
		}
	}
	return r.check()
}

// rowPath returns the place in the configuration that names a variable first.
func (r *records) rowPath(name string) string {
	for i, t := range r.config.Tables {
		if k := slices.Index(t.Rows, name); k >= 0 {
			return fmt.Sprintf("tables[%d].rows[%d]", i, k)
		}
	}
	return "tables"
}

// variablePath returns the place of a variable's hierarchy in the configuration, or else of its
// name.
func (r *records) variablePath(name string) string {
	if slices.ContainsFunc(r.config.Hierarchies, func(v tabulation.Variable) bool { return v.Name == name }) {
		return form.Join("hierarchies", name)
	}
	return r.rowPath(name)
}

// dimensions builds every variable of the tables. It returns all errors at once.
func (r *records) dimensions(s *survey) (map[string]*tables.Dimension, error) {
	made := map[string]*tables.Dimension{}
	for _, t := range r.config.Tables {
		for _, name := range t.Rows {
			if _, done := made[name]; done {
				continue
			}
			made[name] = nil
			v := r.config.Variable(name)
			at := r.variablePath(name)
			hierarchies, sound := r.hierarchies(v, at, s)
			if !sound {
				continue
			}
			d, problems := tables.NewDimension(name, v.Total, hierarchies...)
			for _, p := range problems {
				r.wrong(at, "%s", p.Error())
			}
			made[name] = d
		}
	}
	return made, r.check()
}

func (r *records) hierarchies(v *tabulation.Variable, at string, s *survey) (list []tables.Hierarchy, sound bool) {
	before := len(r.problems)
	ways := s.ways[v.Name]
	rows := make([][]string, 0, len(ways))
	for _, key := range slices.Sorted(maps.Keys(ways)) {
		if r.config.Finished == nil || finishedLeaf(v, ways[key][0]) {
			rows = append(rows, ways[key])
		}
	}
	if len(v.Columns) > 0 {
		list = append(list, tables.FromLevels("columns", rows))
	}
	if len(v.Prefix) > 0 {
		h, problems := tables.FromPrefixes("prefix", leaves(rows), v.Prefix)
		for _, p := range problems {
			r.wrong(at+".prefix", "%s", p.Error())
		}
		list = append(list, h)
	}
	for _, path := range v.Paths() {
		h, err := readHierarchy(path)
		if err != nil {
			r.wrong(at, "%v", err)
			continue
		}
		list = append(list, h)
	}
	if len(v.Codes) > 0 {
		list = append(list, tables.Flat("codes", v.Codes))
	}
	if len(list) == 0 {
		if len(rows) == 0 {
			r.wrong(at, "has no code: no record has one in column %s", v.Leaf())
			return nil, false
		}
		list = append(list, tables.Flat("", leaves(rows)))
	}
	return list, len(r.problems) == before
}

// leaves returns the last codes of the paths, each once, sorted.
func leaves(rows [][]string) []string {
	var codes []string
	for _, row := range rows {
		codes = append(codes, row[len(row)-1])
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

func readHierarchy(path string) (tables.Hierarchy, error) {
	f, err := os.Open(path)
	if err != nil {
		return tables.Hierarchy{}, fmt.Errorf("file %s %s", path, form.Reason(err))
	}
	defer f.Close()
	if strings.EqualFold(filepath.Ext(path), ".csv") {
		return tables.ReadParents(path, f)
	}
	return tables.ReadHRC(path, f, '@')
}
