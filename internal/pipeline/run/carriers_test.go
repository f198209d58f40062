package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/filter"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/shard"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// One release by every carrier: a run, shards, an embedded filter, and a stream up to its present end.

// people are the records of a test, as a table of text.
type people struct {
	born   func(i int) int // days since 1970-01-01
	place  func(i int) string
	person func(i int) string
	wage   func(i int) string // "": missing
	n      int
}

func (p people) csv() string {
	var s strings.Builder
	s.WriteString("born,place,person,wage\n")
	for i := range p.n {
		fmt.Fprintf(&s, "%d,%s,%s,%s\n", p.born(i), p.place(i), p.person(i), p.wage(i))
	}
	return s.String()
}

func (p people) batch() arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "born", Type: arrow.PrimitiveTypes.Int64}, {Name: "place", Type: arrow.BinaryTypes.String},
		{Name: "person", Type: arrow.BinaryTypes.String}, {Name: "wage", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil))
	defer b.Release()
	for i := range p.n {
		b.Field(0).(*array.Int64Builder).Append(int64(p.born(i)))
		b.Field(1).(*array.StringBuilder).Append(p.place(i))
		b.Field(2).(*array.StringBuilder).Append(p.person(i))
		if text := p.wage(i); text == "" {
			b.Field(3).AppendNull()
		} else if err := b.Field(3).AppendValueFromString(text); err != nil {
			panic(err)
		}
	}
	return b.NewRecordBatch()
}

func (p people) messages() (list []*kgo.Record) {
	for i := range p.n {
		wage := p.wage(i)
		if wage == "" {
			wage = "null"
		}
		list = append(list,
			&kgo.Record{Topic: "in", Partition: int32(i % 2),
				Value: fmt.Appendf(nil, `{"born":%d,"place":%q,"person":%q,"wage":%s}`, p.born(i), p.place(i), p.person(i), wage)})
	}
	return list
}

// verdict is what a carrier says of a release.
type verdict struct {
	refused  bool
	rules    []string // that do not hold
	warnings []string
	log      string
	records  report.Records
	attack   string // uniqueness, as JSON
	privacy  string // as JSON
	err      error
}

func verdictOf(rep *report.Report, log string, err error) verdict {
	v := verdict{log: log, err: err}
	if rep == nil {
		return v
	}
	v.refused, v.warnings, v.records = !rep.Gate.Passed, rep.Warnings, rep.Records
	if rep.Privacy != nil {
		text, _ := json.Marshal(rep.Privacy)
		v.privacy = string(text)
	}
	if rep.Attack != nil && rep.Attack.Uniqueness != nil {
		u := *rep.Attack.Uniqueness
		expected := u.ExpectedReidentifications
		u.ExpectedReidentifications = 0
		text, _ := json.Marshal(u)
		v.attack = fmt.Sprintf("%s, %.12g expected", text, expected) // a sum, in another order
	}
	for _, r := range rep.Gate.Rules {
		if !r.Passed {
			v.rules = append(v.rules, r.Rule)
		}
	}
	return v
}

// carried releases the records by each carrier.
func carried(t *testing.T, p people, body string) map[string]verdict {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"k": keytest.Key(1).Text(), "in.csv": p.csv()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	head := "version: 1\nname: p\nkey: {file: '" + dir + "/k'}\n"
	o := config.Options{Environ: func() []string { return nil }}
	parse := func(text string) *config.Pipeline {
		c, err := config.Parse("p.yaml", []byte(text), o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var log bytes.Buffer
	logged := func() pipeline.Options {
		log.Reset()
		return pipeline.Options{Version: "v", Log: zerolog.New(&log).Level(zerolog.WarnLevel)}
	}
	out := map[string]verdict{}
	file := head + "source: {csv: {path: '" + dir +
		"/in.csv', types: {place: string, person: string, wage: float64}}}\nsink: {csv: {path: '" + dir + "/out%s'}}\n" + body
	res, err := Pipeline(t.Context(), parse(fmt.Sprintf(file, ".csv")), logged())
	if out["run"] = verdictOf(nil, log.String(), err); res != nil {
		out["run"] = verdictOf(res.Report, log.String(), err)
	}
	for _, n := range []int{1, 3} {
		what := fmt.Sprintf("%d shards", n)
		out[what] = inShards(t, parse(fmt.Sprintf(file, fmt.Sprint(n))), n, logged(), &log)
	}
	embedded, err := config.ParseEmbedded("p.yaml", []byte(head+body), o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := filter.Open(embedded)
	if err != nil {
		t.Fatal(err)
	}
	all := p.batch()
	defer all.Release()
	for from := int64(0); from < all.NumRows(); from += 500 {
		part := all.NewSlice(from, min(from+500, all.NumRows()))
		masked, err := f.Batch(part)
		part.Release()
		if err != nil {
			t.Fatal(err)
		}
		masked.Release()
	}
	rep, err := f.Close()
	out["filter"] = verdictOf(rep, "", err)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "in", "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), p.messages()...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	brokers := "brokers: [\"" + cluster.ListenAddrs()[0] + "\"]"
	res,
		err = Pipeline(t.Context(),
		parse(
			head+"source: {kafka: {"+brokers+", topics: [in], group: g, until: latest, format: {json: {}}}}\nsink: {kafka: {"+
				brokers+", topic: out}}\n"+body), logged())
	if out["stream"] = verdictOf(nil, log.String(), err); res != nil {
		out["stream"] = verdictOf(res.Report, log.String(), err)
	}
	return out
}

func inShards(t *testing.T, p *config.Pipeline, n int, o pipeline.Options, log *bytes.Buffer) verdict {
	t.Helper()
	m, err := shard.Plan(t.Context(), p, "p.yaml", nil, n, o)
	if err != nil {
		t.Fatal(err)
	}
	plan, states := filepath.Join(t.TempDir(), "plan.json"), t.TempDir()
	if err := m.Write(plan); err != nil {
		t.Fatal(err)
	}
	if m, err = shard.Read(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	for i := range m.Shards {
		s, err := shard.Run(context.Background(), p, m, i, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(filepath.Join(states, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	res, err := shard.Commit(context.Background(), p, m, states, o)
	if res == nil {
		return verdictOf(nil, log.String(), err)
	}
	return verdictOf(res.Report, log.String(), err)
}

// What the gate refuses and what a report warns of is the same whichever way a release takes. A stream has no error
// after what it has committed: it says in its log and in its report what ends the others.
func TestCarriersAreOfOneMind(t *testing.T) {
	racetest.Further(t)
	rng := rand.New(rand.NewPCG(1, 2))
	days, wages := make([]int, 1800), make([]int, 1800) // in no order that tells of them
	for i := range days {
		days[i], wages[i] = rng.IntN(730), 900+rng.IntN(997)
	}
	base := people{
		n: 1800, born: func(i int) int { return days[i] }, place: func(i int) string {
			return fmt.Sprintf("%02d%d", i%7, i%3)
		},
		person: func(i int) string { return fmt.Sprintf("p%d", i*i%1201) }, wage: func(i int) string {
			return fmt.Sprint(wages[i])
		},
	}
	first, rare := base, base
	first.born = func(i int) int { return 61 * (days[i] / 61) } // one date for two months
	rare.born = func(i int) int {
		if i < 10 {
			return -3650 // one month of ten records: 10 of 1,800 are more than 1 in 200
		}
		return base.born(i)
	}
	const columns = "columns: {born: {role: sensitive, decimals: 0}, place: {role: sensitive}, person: {role: other}, wage: {role: sensitive, decimals: 0}}\n"
	const noise, months = "{noise: {columns: [wage], sd: 100}}", "{date: {columns: [born], round: month, unit: days}}"
	const coarse = "{recode: {columns: [place], map: {'00*': a, '01*': b, '0?2': c}, other: d}}"
	const gate = "assess: {replicates: 4, targets: [p50], intruder: {inversion: false}}\n"
	places := func(suffix string) string {
		var list []string
		for i := range 21 {
			list = append(list, "'"+base.place(i)+"'"+suffix)
		}
		return strings.Join(list, ", ")
	}
	themselves := ""
	for i := range 21 {
		themselves += "'" + base.place(i) + "': '" + base.place(i) + "', "
	}
	themselves += "gone: other"
	for name, c := range map[string]struct {
		of      people
		masks   []string
		more    string
		rule    string // that refuses
		warning string
		fails   string // the error, and what a stream says
	}{
		"all is well": {base, []string{noise, months, coarse}, "gate: {}\n", "", "", ""},
		"dates that are known": {first, []string{noise, months, coarse}, "gate: {}\n",
			"born: rounded dates not known exactly by the release",
			"born: 1800 of 1800 released dates stand for one and the same original date each", ""},
		"a few dates that are known": {rare, []string{noise, months, coarse}, "gate: {}\n",
			"born: rounded dates not known exactly by the release",
			"born: 10 of 1800 released dates stand for one and the same original date each", ""},
		"dates that are known without a gate": {first, []string{noise, months, coarse}, "", "",
			"born: 1800 of 1800 released dates", ""},
		"texts that stay by chance": {
			base, []string{noise, months, "{pram: {columns: [place], keep: 0.999999999, categories: [" + places("") + "]}}"},
			"gate: {}\n",
			"place: not all released values equal to the original", "place: all of its released values are the original", ""},
		"texts that stay without a gate": {
			base, []string{noise, months, "{recode: {columns: [place], map: {" + places(": x") + ", x: y}, other: z}}"}, "", "",
			"", ""},
		"texts that are recoded to themselves": {
			base, []string{noise, months, "{recode: {columns: [place], map: {" + themselves + "}}}"},
			"gate: {allow_unchanged: 0.9}\n",
			"place: not all released values equal to the original", "place: all of its released values are the original", ""},
		"texts that may stay": {base, []string{noise, months, "{recode: {columns: [place], map: {" + themselves + "}}}"},
			"gate: {allow_unchanged: 1}\n", "",
			"place: all of its released values are the original", ""},
		"pseudonyms": {base, []string{noise, months, coarse, "{pseudonym: {columns: [person], scope: s}}"}, "gate: {}\n", "",
			"person: pseudonymised, not anonymised", ""},
		"codes that no record has": {base, []string{noise, months, coarse}, "gate: {}\n", "",
			"wage: no record of the release has the declared code for a missing value -9", ""},
		"a pattern in vain": {
			base, []string{noise, months, "{recode: {columns: [place], map: {'00*': a, '09*': b}, other: d}}"}, "gate: {}\n", "",
			`masks[2].recode: "09*" matches no value of column place`, `the pattern "09*" matches no value of column place`},
	} {
		t.Run(name, func(t *testing.T) {
			columns := columns
			if strings.HasPrefix(c.warning, "wage: no record") {
				columns = strings.Replace(columns, "wage: {", "wage: {missing: [-9], ", 1)
			}
			all := carried(t, c.of, columns+"masks: ["+strings.Join(c.masks, ", ")+"]\n"+gate+c.more)
			for carrier, v := range all {
				if fails := c.fails != "" && carrier != "stream"; fails {
					if v.err == nil || !strings.Contains(v.err.Error(), c.fails) {
						t.Errorf("%s: error %v, want %s", carrier, v.err, c.fails)
					}
					continue
				}
				if v.err != nil {
					t.Errorf("%s: %v", carrier, v.err)
					continue
				}
				if c.fails != "" && strings.Count(v.log, "the pattern ") == 0 {
					t.Errorf("%s: the log is %s", carrier, v.log)
				}
				if v.refused != (c.rule != "") || c.rule != "" && !slices.Contains(v.rules, c.rule) {
					t.Errorf("%s: refused %v by %q, want %q", carrier, v.refused, v.rules, c.rule)
				}
				if carrier == "stream" && v.refused {
					continue // nothing was committed that could be reported
				}
				if c.warning != "" && !slices.ContainsFunc(v.warnings, func(w string) bool {
					return strings.HasPrefix(w, c.warning)
				}) {
					t.Errorf("%s: warnings %q, want %q", carrier, v.warnings, c.warning)
				}
				if carrier != "filter" && len(v.warnings) > 0 &&
					!strings.Contains(v.log, strings.ReplaceAll(v.warnings[0], `"`, `\"`)) {
					t.Errorf("%s: its warnings are not in the log: %s", carrier, v.log)
				}
				if want := all["run"]; c.fails == "" &&
					(!slices.Equal(v.warnings, want.warnings) || !slices.Equal(v.rules, want.rules)) {
					t.Errorf("%s: warnings %q, rules %q\nof one run: %q, %q", carrier, v.warnings, v.rules, want.warnings, want.rules)
				}
			}
		})
	}
}

// A record whose sampling weight is missing, a code for a missing one, or negative goes to quarantine in every carrier,
// and the individual risks are those of the other records; a weight of 0 is one.
func TestWeightsInEveryCarrier(t *testing.T) {
	p := people{
		n: 900, born: func(i int) int { return i * 7919 % 730 }, place: func(i int) string {
			return fmt.Sprint(i * i % 11)
		}, person: func(i int) string { return "p" },
		wage: func(i int) string {
			switch i {
			case 7:
				return ""
			case 8:
				return "-5"
			case 9:
				return "0"
			case 899:
				return "-9"
			}
			return fmt.Sprint(1 + i%50)
		},
	}
	for _, missing := range []string{"", ", missing: [-9]"} {
		all := carried(t, p,
			"columns: {born: {role: sensitive, decimals: 0}, place: {role: key}, person: {role: identifier}, wage: {role: other, decimals: 0"+missing+"}}\nweight: wage\n"+
				"masks: [{noise: {columns: [born], sd: 100}}]\nassess: {keys: [place], replicates: 4, targets: [p50], intruder: {uniqueness: {}}}\n")
		for carrier, v := range all {
			if v.err != nil {
				t.Errorf("%s: %v", carrier, v.err)
				continue
			}
			reasons := map[string]int64{"wage: is missing, and must be a sampling weight: a finite number of at least 0": 1,
				"wage: must be a sampling weight: a finite number of at least 0": 2}
			if missing != "" {
				reasons = map[string]int64{"wage: is missing, and must be a sampling weight: a finite number of at least 0": 2,
					"wage: must be a sampling weight: a finite number of at least 0": 1}
			}
			if v.records.Quarantined != 3 || v.records.Released != 897 || !maps.Equal(v.records.Reasons, reasons) {
				t.Errorf("%s: records %+v", carrier, v.records)
			}
			if v.attack != all["run"].attack || len(v.attack) < 100 {
				t.Errorf("%s: uniqueness %s\nof one run %s", carrier, v.attack, all["run"].attack)
			}
		}
	}
}
