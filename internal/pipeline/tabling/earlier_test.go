package tabling

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// The long form takes some minutes:
//
//	go test ./internal/pipeline/tabling -run CombinesReleases -histories 1000
var histories = flag.Int("histories", 60, "random series of releases that TestNobodyCombinesReleases makes")

// A history is a series of releases of records that change little. The intruders of the test know of each person when
// she was in the records, and everything that was published.
type history struct {
	threshold, coalition int
	holding              bool
	value                bool
	times                [][][]string // records of each time: id, a, b, c, h, x
	moments              []moment
}

// moment is one release.
type moment struct {
	dir  string
	time int // of its records
	rows [][]string
}

func drawHistory(rng *rand.Rand) *history {
	h := &history{threshold: 2 + rng.IntN(2), coalition: 1 + rng.IntN(5)/4, holding: rng.IntN(3) == 0,
		value: rng.IntN(4) > 0}
	n := 12 + rng.IntN(12)
	next := 0
	draw := func() []string {
		next++
		return []string{
			fmt.Sprint("p", next), fmt.Sprint("a", rng.IntN(3)), fmt.Sprint("b", rng.IntN(2)), fmt.Sprint("c", rng.IntN(2)),
			fmt.Sprint("h", rng.IntN(n*2/3)), fmt.Sprint(1 + rng.IntN(60)),
		}
	}
	var records [][]string
	for range n {
		records = append(records, draw())
	}
	h.times = append(h.times, records)
	for m := range 2 + rng.IntN(5)/3 {
		if m > 0 && rng.IntN(3) > 0 { // other records
			records = slices.Clone(records)
			for range 1 + rng.IntN(2) {
				switch at := rng.IntN(len(records)); rng.IntN(4) {
				case 0:
					records = slices.Delete(records, at, at+1)
				case 1:
					records = append(records, draw())
				case 2:
					records[at] = slices.Clone(records[at])
					records[at][5] = fmt.Sprint(1 + rng.IntN(60))
				default:
					records[at] = slices.Clone(records[at])
					records[at][1] = fmt.Sprint("a", rng.IntN(3))
				}
			}
			h.times = append(h.times, records)
		}
		all := [][]string{{"a", "b"}, {"a", "c"}, {"b", "c"}, {"a"}, {"b"}, {"a", "b", "c"}}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		h.moments = append(h.moments, moment{time: len(h.times) - 1, rows: all[:1+rng.IntN(2)]})
	}
	return h
}

// text is the configuration of a release, against those before it or alone.
func (h *history) text(k int, against []int) string {
	m := h.moments[k]
	text := fmt.Sprintf("version: 1\nname: r%d\nsource: {csv: {path: %%s/t%d.csv}}\ncoalition: %d\n", k, m.time,
		h.coalition)
	if h.holding {
		text += "holding: h\n"
	}
	others := false
	list := ""
	for _, i := range against {
		list += fmt.Sprintf("  - {report: %s/report.json", h.moments[i].dir)
		if t := h.moments[i].time; t != m.time {
			others = true
			list += fmt.Sprintf(", source: {csv: {path: %%s/t%d.csv}}", t)
		}
		list += "}\n"
	}
	if list != "" {
		text += "releases:\n" + list
	}
	if others && !h.holding {
		text += "identity: [id]\n"
	}
	value := ""
	if h.value {
		value = "value: x, "
	}
	text += "tables:\n"
	for i, rows := range m.rows {
		text += fmt.Sprintf("  - {name: t%d, rows: [%s], %sunsafe: [{threshold: %d}], protect: {suppress: {}}}\n", i,
			strings.Join(rows, ", "), value, h.threshold)
	}
	return text + "sink: {csv: {path: " + m.dir + "/out.csv}}\nreport: {json: " + m.dir + "/report.json, cells: " + m.dir +
		"/cells.csv}\n"
}

// part is the codes of a cell, without totals, and a set of releases' times: the records that are in all of them and in
// no other time.
type part struct {
	codes [3]string // of a, b, c; empty: total
	times int
}

// intruders is what is known, as equations between the totals of single combinations of a, b, c and of times.
type intruders struct {
	*history
	atoms []part
	in    map[string]int      // of a person's record: the times in which it is just so
	of    map[string][]string // that record
}

func (h *history) intruders() *intruders {
	w := &intruders{history: h, in: map[string]int{}, of: map[string][]string{}}
	for t, records := range h.times {
		for _, r := range records {
			key := strings.Join(r, ",")
			w.in[key] |= 1 << t
			w.of[key] = r
		}
	}
	var times []int
	for _, t := range w.in {
		if !slices.Contains(times, t) {
			times = append(times, t)
		}
	}
	slices.Sort(times)
	for _, t := range times {
		for _, a := range []string{"a0", "a1", "a2"} {
			for _, b := range []string{"b0", "b1"} {
				for _, c := range []string{"c0", "c1"} {
					w.atoms = append(w.atoms, part{[3]string{a, b, c}, t})
				}
			}
		}
	}
	return w
}

// target is a cell as the test sees it: a linear form of the atoms, and who contributes.
type target struct {
	name   string
	vector []int64
	who    []string
	hidden bool
}

// cell returns the cell of codes among the records whose times pass.
func (w *intruders) cell(name string, codes [3]string, passes func(times int) bool, hidden bool) target {
	c := target{name: name, vector: make([]int64, len(w.atoms)), hidden: hidden}
	within := func(of [3]string) bool {
		for k, code := range codes {
			if code != "" && code != of[k] {
				return false
			}
		}
		return true
	}
	for i, atom := range w.atoms {
		if passes(atom.times) && within(atom.codes) {
			c.vector[i] = 1
		}
	}
	for key, times := range w.in {
		r := w.of[key]
		if passes(times) && within([3]string(r[1:4])) {
			who := r[0]
			if w.holding {
				who = r[4]
			}
			if !slices.Contains(c.who, who) {
				c.who = append(c.who, who)
			}
		}
	}
	slices.Sort(c.who)
	return c
}

// seen reads what a release has published.
func (w *intruders) seen(t *testing.T, k int) (cells []target) {
	t.Helper()
	m := w.moments[k]
	f, err := os.Open(filepath.Join(m.dir, "out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := lines[0]
	for _, line := range lines[1:] {
		var codes [3]string
		name := fmt.Sprintf("release %d", k)
		for i, v := range []string{"a", "b", "c"} {
			if at := slices.Index(head, v); at >= 0 && line[at] != "total" {
				codes[i] = line[at]
				name += " " + line[at]
			}
		}
		cells = append(cells, w.cell(name, codes, func(times int) bool {
			return times>>m.time&1 == 1
		}, line[slices.Index(head, "status")] == "suppressed"))
	}
	return cells
}

// A breach is an unsafe cell that somebody can compute.
type breach struct {
	cell target
	by   []string
}

func (b breach) String() string { return fmt.Sprint(b.cell.name, " by ", b.by) }

// world is what some releases tell, and the cells that are to be protected: what they hold back, all cells of one more
// release, and the cells of those who came, left or stayed between these.
type world struct {
	*intruders
	targets   []target
	public    [][]int64 // vectors that everybody knows
	everybody []string
}

func (w *intruders) world(t *testing.T, releases []int, more int) *world {
	t.Helper()
	o := &world{intruders: w}
	for _, k := range releases {
		for _, c := range w.seen(t, k) {
			if o.targets = append(o.targets, c); !c.hidden {
				o.public = append(o.public, c.vector)
			}
		}
	}
	if !slices.Contains(releases, more) { // before it was published
		for _, c := range w.seen(t, more) {
			c.hidden = true
			o.targets = append(o.targets, c)
		}
	}
	for _, c := range w.parts(append(slices.Clone(releases), more)) {
		if o.targets = append(o.targets, c); len(c.who) == 0 { // who knows when somebody came knows that nobody did
			o.public = append(o.public, c.vector)
		}
	}
	for _, c := range o.targets {
		o.everybody = append(o.everybody, c.who...)
	}
	slices.Sort(o.everybody)
	o.everybody = slices.Compact(o.everybody)
	return o
}

// among reports whether all contributors of a cell are among some persons.
func among(c target, k []string) bool {
	return len(c.who) > 0 && !slices.ContainsFunc(c.who, func(p string) bool { return !slices.Contains(k, p) })
}

// own returns the vectors of the cells that only some persons contribute to, which they know.
func (o *world) own(k []string) (vectors [][]int64) {
	for _, c := range o.targets {
		if c.hidden && among(c, k) {
			vectors = append(vectors, c.vector)
		}
	}
	return vectors
}

// breaches returns the unsafe cells that follow by linear equations, for an outsider or a coalition.
func (o *world) breaches() (found []breach) {
	public := &span{}
	for _, v := range o.public {
		public.add(v)
	}
	coalitions := [][]string{nil}
	for i, p := range o.everybody {
		coalitions = append(coalitions, []string{p})
		for _, before := range o.everybody[:i] {
			if o.coalition > 1 {
				coalitions = append(coalitions, []string{before, p})
			}
		}
	}
	for _, k := range coalitions {
		known := public.clone()
		for _, v := range o.own(k) {
			known.add(v)
		}
		for _, c := range o.targets {
			if n := len(c.who); c.hidden && n > 0 && n < o.threshold && !among(c, k) && known.has(c.vector) {
				found = append(found, breach{c, k})
			}
		}
	}
	return found
}

// fixed reports whether a cell has only one value for somebody who also knows that nothing is below her own part of it,
// nor below 0.
func (o *world) fixed(b breach) bool {
	n := len(o.atoms)
	lower, truth := make([]float64, n+1), make([]float64, n)
	for key, times := range o.in {
		r := o.of[key]
		at := slices.IndexFunc(o.atoms, func(x part) bool { return x.times == times && x.codes == [3]string(r[1:4]) })
		x := 1.0
		if o.value {
			x, _ = strconv.ParseFloat(r[5], 64)
		}
		truth[at] += x
		who := r[0]
		if o.holding {
			who = r[4]
		}
		if slices.Contains(b.by, who) {
			lower[at] += x
		}
	}
	var sums [][]float64
	var constants []float64
	for _, v := range slices.Concat(o.public, o.own(b.by)) {
		row, right := make([]float64, n+1), 0.0
		for i, f := range v {
			row[i] = float64(f)
			right += float64(f) * truth[i]
		}
		sums, constants = append(sums, row), append(constants, -right)
	}
	row := make([]float64, n+1)
	for i, f := range b.cell.vector {
		row[i] = float64(f)
	}
	row[n] = -1
	low, high := rangeOf(n, lower, append(sums, row), append(constants, 0))
	return high-low < 1e-3
}

// caused returns what can be computed from a release and those before it, and not from those before it.
func (w *intruders) caused(t *testing.T, before []int, k int) (found []breach) {
	t.Helper()
	was := w.world(t, before, k)
	old := was.breaches()
	for _, b := range w.world(t, append(slices.Clone(before), k), k).breaches() {
		if !slices.ContainsFunc(old, func(o breach) bool { return o.String() == b.String() }) && !was.fixed(b) {
			found = append(found, b)
		}
	}
	return found
}

// parts returns the cells of the records that were in the same times of some releases, for all codes of the tables of
// these.
func (w *intruders) parts(releases []int) (cells []target) {
	mask := 0
	for _, k := range releases {
		mask |= 1 << w.moments[k].time
	}
	var times []int
	for _, t := range w.in {
		if t &= mask; t != 0 && !slices.Contains(times, t) {
			times = append(times, t)
		}
	}
	seen := map[string]bool{}
	for _, in := range times {
		for _, k := range releases {
			for _, rows := range w.moments[k].rows {
				for _, a := range []string{"", "a0", "a1", "a2"} {
					for _, b := range []string{"", "b0", "b1"} {
						for _, c := range []string{"", "c0", "c1"} {
							codes := [3]string{a, b, c}
							fits := true
							for i, v := range []string{"a", "b", "c"} {
								fits = fits && (codes[i] == "" || slices.Contains(rows, v))
							}
							name := fmt.Sprintf("times %b %v", in, codes)
							if fits && !seen[name] {
								seen[name] = true
								cells = append(cells, w.cell(name, codes, func(t int) bool { return t&mask == in }, true))
							}
						}
					}
				}
			}
		}
	}
	return cells
}

// Nobody can compute an unsafe cell, of any release or of the persons who have come or left between two of them, from
// all releases together, if each was made against those before. Releases that are made alone can be combined. A cell
// that follows from the releases before a release is not its fault.
func TestNobodyCombinesReleases(t *testing.T) {
	racetest.Further(t)
	rng := rand.New(rand.NewPCG(38, 6))
	published, withheld, other, open := 0, 0, 0, 0
	histories := inShort(*histories)
	for trial := range histories {
		h := drawHistory(rng)
		dir := t.TempDir()
		w := h.intruders()
		for i, records := range h.times {
			lines := []string{"id,a,b,c,h,x"}
			for _, r := range records {
				lines = append(lines, strings.Join(r, ","))
			}
			write(t, dir, fmt.Sprintf("t%d.csv", i), strings.Join(lines, "\n")+"\n")
		}
		var before []int
		for k := range h.moments {
			for _, alone := range []bool{true, false} {
				m := &h.moments[k]
				m.dir = filepath.Join(dir, fmt.Sprintf("r%d-%v", k, alone))
				if err := os.Mkdir(m.dir, 0o700); err != nil {
					t.Fatal(err)
				}
				against := before
				if alone {
					against = nil
				}
				text := h.text(k, against)
				res, err := run(t, dir, text)
				if err != nil {
					t.Fatalf("history %d, release %d: %v\n%s", trial, k, err, text)
				}
				if res.Report.Withheld != "" {
					if !alone && len(before) > 0 {
						withheld++
					}
					continue
				}
				found := w.caused(t, before, k)
				switch {
				case alone && len(before) > 0 && len(found) > 0:
					open++
				case !alone && len(found) > 0:
					t.Fatalf("history %d (%s), release %d: %v can be computed\n%s", trial, dir, k, found, text)
				case !alone && len(before) > 0:
					published++
					if m.time != h.moments[before[0]].time {
						other++
					}
				}
				if !alone {
					before = append(before, k)
				}
			}
		}
	}
	t.Logf("%d releases published against earlier ones, %d of them of other records, %d withheld; %d alone would be open",
		published, other, withheld, open)
	if published < histories/3 || other < histories/6 || open < histories/6 {
		t.Errorf("%d published, %d of other records, %d open: the test shows little", published, other, open)
	}
}
