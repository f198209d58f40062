package tabulation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
	"github.com/sdlfilter/sdlfilter/internal/tables/workbook"
)

// Tabulation is a configuration of sdlfilter tables: the tables of the records of a source,
// the rules for cells that may not be published, the protection of these cells, and the rules
// for publishing the tables.
type Config struct {
	Version     int                       `yaml:"version" required:"true" doc:"version of this format; 1"`
	Name        string                    `yaml:"name" doc:"the name, for reports and messages; by default the file's name without its extension"`
	Source      config.Source             `yaml:"source" doc:"the files with the records, of any format; exactly one"`
	Window      *TableWindow              `yaml:"window" doc:"with a pipeline that reads topics: the records are divided into windows, and each window gets tables of its own as soon as it is complete"`
	Pipeline    string                    `yaml:"pipeline" doc:"instead of source: the configuration of a pipeline; the tables are made from the records that its masks release"`
	Key         config.Secret             `yaml:"key" doc:"where the release key is kept, for cell_key, markov, swap, sample and random rounding: with the same key, the same contributors get the same change in every release; with pipeline, its key is used"`
	Identity    []string                  `yaml:"identity" doc:"the columns that identify a record, for the methods that need key; with pipeline, its identity is used"`
	Missing     map[string]config.Missing `yaml:"missing" doc:"with source: values that mean that there is none, by column: income: [-9, {from: 97, to: 99}]. A record with such a value contributes nothing to a table of the column's values; in a variable it is a code like any other, or with as: null no code. With pipeline, its columns say it"`
	Holding     string                    `yaml:"holding" doc:"the column that says to which holding a record belongs: contributors are then holdings, and all records of a holding in a cell are one contribution"`
	Coalition   int                       `yaml:"coalition" default:"1" doc:"how many contributors combine what they know of the tables in which they are, 1 to 3 (default 1: each alone); for suppress"`
	Request     string                    `yaml:"request" doc:"the column that says whether a respondent has asked for protection (true, yes or 1), for the rule request"`
	Unknown     string                    `yaml:"unknown" default:"fail" enum:"fail,drop" doc:"what happens to a record whose code is not in the hierarchy, or that has no code, no value, no weight of at least 1 or no holding: fail (default) ends the run, drop leaves the record out of all tables and counts it"`
	Equations   []string                  `yaml:"equations" doc:"equations that hold between values in every record, such as total = domestic + export: the tables of these values are protected together. Equations that the records show need not be declared, if there are some dozens of records"`
	Releases    []EarlierRelease          `yaml:"releases" doc:"earlier releases that people know: nothing may follow from them and these tables together, of the respondents of today, and of those who have come or left since"`
	Finished    *Finished                 `yaml:"finished" doc:"the rows of the source are not records, but the cells of finished tables, with all totals: their codes, value, number of contributors and largest contributions. If there are several tables, the column table has the name of the table of a row"`
	Hierarchies []Variable                `yaml:"hierarchies" doc:"how the codes of a variable add up, by variable; a variable that is not listed has the codes of its column and their total"`
	Tables      []Table                   `yaml:"tables" required:"true" doc:"the tables; tables of the same value that share cells are protected together"`
	Map         *TableMap                 `yaml:"map" doc:"what sdlfilter map compares; sdlfilter tables ignores it"`
	Gate        TableGate                 `yaml:"gate" doc:"rules that must hold for the tables to be published. Two more always apply: no unsafe value is disclosed, and every range is as wide as its rule asks"`
	Sink        TableSink                 `yaml:"sink" required:"true" doc:"where the public tables are written, with one row per cell: table, codes, value, status; exactly one"`
	SDMX        *SDMX                     `yaml:"sdmx" doc:"write the public tables as SDMX-CSV 2.0, with their structure and status codes; for sink csv"`
	Report      TabulationOut             `yaml:"report" doc:"reports about the tables"`

	// Warnings is what the user should know of and no error.
	Warnings []string `yaml:"-"`

	// Loosened are the settings of the environment and the command line that let more
	// out than the file does.
	Loosened []config.Loosening `yaml:"-"`

	loaded  *loader
	digest  string // of the configuration that this one was derived from
	mapping bool   // read for a map, which tries further methods
}

// Equation reads an equation between values, "total = domestic + export"; ok is false if it is not of
// this form.
func Equation(text string) (total string, parts []string, ok bool) {
	total, sum, ok := strings.Cut(text, "=")
	total = strings.TrimSpace(total)
	ok = ok && total != ""
	for _, part := range strings.Split(sum, "+") {
		part = strings.TrimSpace(part)
		ok = ok && part != "" && part != total && !slices.Contains(parts, part)
		parts = append(parts, part)
	}
	return total, parts, ok
}

// Variable is a column that tables are made by, and how its codes add up. Several of
// the ways may be given: each is a hierarchy over the same codes.
type Variable struct {
	Name    string   `yaml:",name"`
	Column  string   `yaml:"column"  doc:"the column of the source that holds the codes; by default the last one in columns or, without columns, the column with the variable's name"`
	Columns []string `yaml:"columns" doc:"columns of codes, one per level, the broadest level first: each code belongs to the code in the column before"`
	Prefix  []int    `yaml:"prefix" doc:"the codes above a code are its prefixes of these lengths, in characters: [1, 2, 4]"`
	Codes   []string `yaml:"codes" doc:"all codes, if they are not to be taken from the records; the only sum is the total"`
	File    string   `yaml:"file" doc:"a file with the hierarchy: a .csv file with the columns child and parent (empty: the total); any other file has one code per line, with one more @ at its start for each level further down"`
	Files   []string `yaml:"files" doc:"several such files, each with another hierarchy of the same codes"`
	Total   string   `yaml:"total" default:"total" doc:"the code of the total"`
}

// FromFile reports whether the codes are given, so that the records are not needed to
// know them.
func (v *Variable) FromFile() bool { return v.File != "" || len(v.Files) > 0 || len(v.Codes) > 0 }

// Paths are the files of the variable, in order.
func (v *Variable) Paths() []string {
	if v.File != "" {
		return append([]string{v.File}, v.Files...)
	}
	return v.Files
}

// Leaf is the column that holds the codes of records.
func (v *Variable) Leaf() string {
	switch {
	case v.Column != "":
		return v.Column
	case len(v.Columns) > 0:
		return v.Columns[len(v.Columns)-1]
	}
	return v.Name
}

// Table is one cross-classification and what becomes of it.
type Table struct {
	Name     string    `yaml:"name" required:"true" doc:"the table's name, in the column table of the published file"`
	Rows     []string  `yaml:"rows" required:"true" doc:"the variables, in the order of the columns of the published file"`
	Value    string    `yaml:"value" doc:"the numeric column that is summed; without it, records are counted"`
	Weight   string    `yaml:"weight" doc:"the column of sampling weights, each at least 1"`
	Decimals *int      `yaml:"decimals" doc:"the number of decimals to which contributions are rounded before they are summed, 0 to 9; by default that of the column's type or, for floats, as many as the values have; 0 for counts"`
	Absolute bool      `yaml:"absolute" doc:"the rules use the absolute values of contributions; required if some contributions are negative"`
	Unsafe   []Unsafe  `yaml:"unsafe" doc:"the rules for unsafe cells: a cell that breaks one of them may not be published unprotected"`
	Zeros    string    `yaml:"zeros" default:"safe" enum:"safe,unsafe" doc:"for tables with value: whether a cell with contributors whose value is 0 may be published (safe, default) or not (unsafe)"`
	Interval *Interval `yaml:"interval" doc:"how far the range that can be inferred must extend above and below the value, for rules without a formula of their own (threshold, request, zeros, apriori); by default the threshold itself for counts, otherwise 30 % of the value"`
	Apriori  string    `yaml:"apriori" doc:"a CSV file of cells whose status is set in advance: a column for each variable, the column as (safe, unsafe or published), and optionally up and down (protection of an unsafe cell) and cost; or a .hst file of tau-Argus"`
	Protect  Protect   `yaml:"protect" required:"true" doc:"how unsafe cells are protected; exactly one"`
}

// Unsafe is one rule; exactly one of its fields is given. X is a cell's total and
// x₁ ≥ x₂ ≥ … its contributions.
type Unsafe struct {
	Threshold int       `yaml:"threshold" choice:"true" doc:"least number of contributors, at least 2; a cell with fewer is unsafe"`
	PPercent  float64   `yaml:"p_percent" choice:"true" doc:"X − x₁ − x₂ must be at least p percent of x₁"`
	PQ        []float64 `yaml:"pq" choice:"true" doc:"[p, q] in percent, p < q: the same, if everybody already knows each contribution to within q percent"`
	Dominance []float64 `yaml:"dominance" choice:"true" doc:"[n, k]: the n largest contributors must not make up more than k percent of X"`
	Request   float64   `yaml:"request" choice:"true" doc:"a contributor who has asked for protection must not make up more than this percentage of X"`
}

// Interval is the protection of rules without a formula: the greater of both.
type Interval struct {
	Absolute float64 `yaml:"absolute" doc:"distance in the unit of the value"`
	Percent  float64 `yaml:"percent" doc:"distance in percent of the value"`
}

// Protect is how the unsafe cells of a table are protected; one field is not nil.
type Protect struct {
	Suppress *Suppress    `yaml:"suppress" choice:"true" doc:"cell suppression: unsafe cells are held back, and as many other cells as are needed so that no unsafe cell can be computed or estimated too closely"`
	CellKey  *CellKey     `yaml:"cell_key" choice:"true" doc:"every count, or sum of values, is changed a little, always in the same way for the same contributors; needs key and identity. Published totals are not the sums of the published cells"`
	Round    *Rounding    `yaml:"round" choice:"true" doc:"every count is rounded to a multiple of a base, or only small counts are rounded, to 0 or the base"`
	Adjust   *Adjust      `yaml:"adjust" choice:"true" doc:"controlled tabular adjustment: every unsafe value is changed so far that it is protected, up or down, and others as little as possible, so that all sums hold"`
	Simulate *Simulate    `yaml:"simulate" choice:"true" doc:"a new table is drawn at random from all tables with the same counts by one variable and the same counts by all other variables together"`
	Markov   *Markov      `yaml:"markov" choice:"true" doc:"records are exchanged at random in squares of four cells. The counts by one variable and the counts by all other variables together do not change, and neither does the expectation of any count; needs key and identity"`
	Swap     *TableSwap   `yaml:"swap" choice:"true" doc:"codes of one variable are paired, and a share of the records of each pair, drawn at random, exchange these codes. The counts by this variable and the counts by all other variables together do not change; needs key and identity"`
	Sample   *TableSample `yaml:"sample" choice:"true" doc:"the counts are those of a random sample of the records, multiplied by one_in; needs key and identity"`
	None     *NoMethod    `yaml:"none" choice:"true" doc:"nothing is held back: the table is refused if a cell is unsafe"`
}

// Suppress are the parameters of cell suppression.
type Suppress struct {
	Cost        string `yaml:"cost" default:"unit" enum:"unit,value,log" doc:"the cost of holding a cell back: unit (default): 1 for each cell; value: the cell's value; log: the logarithm of 1 + the cell's value. The cost column of apriori takes precedence"`
	Zeros       string `yaml:"zeros" default:"never" enum:"never,may" doc:"whether a safe cell of value 0 may be held back to protect others (default never; the audit then assumes that everybody knows this)"`
	Respondents string `yaml:"respondents" default:"protect" enum:"protect,ignore" doc:"protect (default): also protect against respondents who are alone in a cell and so know its value; ignore: protect against outsiders only"`

	Effort   string          `yaml:"effort" default:"usual" enum:"usual,optimal" doc:"usual (default): a quick search for cheap cells to hold back; optimal: also searches for the cheapest ones, in sets of tables with at most 3,000 cells together, and the report says how far from the cheapest the result can be at most"`
	Patience config.Duration `yaml:"patience" doc:"time limit of the search for cells that need not be held back, such as 30s. Cells that were not examined by then stay held back: protection is not weaker, but another run may hold back other cells; by default there is no limit"`
}

// CellKey are the parameters of perturbation by cell keys.
type CellKey struct {
	Max      int     `yaml:"max" default:"3" doc:"the greatest change of a count, up or down, at least 1 (default 3)"`
	Variance float64 `yaml:"variance" default:"1.5" doc:"the variance of the change of every count except 0, which stays 0 (default 1.5)"`
	Least    int     `yaml:"least" doc:"the least count above 0 that is published: 3 publishes no 1 and no 2"`
	PTable   string  `yaml:"p_table" doc:"instead of max, variance and least: a file with the probabilities of all changes, as the R package ptable exports it (columns i, j and p: the count, the published count, the probability); a count of 0 must stay 0, and the expectation of every other count must be the count"`

	Values *CellKeyValues `yaml:"values" doc:"for tables with value, instead of max, variance, least and p_table: by how much sums of values are changed"`

	Respondents string `yaml:"respondents" default:"protect" enum:"protect,ignore" doc:"protect (default): also protect against respondents, who know their own part of each count; ignore: protect against outsiders only"`
}

// CellKeyValues are the parameters of the changes of values by cell keys.
type CellKeyValues struct {
	Most    float64   `yaml:"most" required:"true" doc:"the greatest change of a cell, up or down, as a share of its largest contribution, above 0 and at most 0.95; the standard deviation of the change is 0.289 times this"`
	Large   float64   `yaml:"large" doc:"with point: the share that very large contributions approach, at most most"`
	Point   float64   `yaml:"point" doc:"the contribution, in the unit of the value, from which the share falls from most to large (flex function); without it the share is most for all contributions"`
	Q       int       `yaml:"q" default:"3" doc:"with point: how fast the share falls, 2 to 10 (default 3)"`
	Epsilon []float64 `yaml:"epsilon" doc:"the weights of the shares of the largest contributions of a cell, 1 first, not ascending, at most 6; by default the largest contribution alone counts ([1])"`
	Least   float64   `yaml:"least" doc:"the least greatest change, in the unit of the value, for cells of small contributions (separation); never more than the value of the cell"`
}

// Units are the parameters as the package perturb has them, for a value with some decimals.
func (c *CellKeyValues) Units(decimals int) *perturb.Values {
	unit := math.Pow10(decimals)
	v := &perturb.Values{Most: c.Most, Large: c.Large, Point: c.Point * unit, Q: c.Q, Epsilon: c.Epsilon,
		Least: c.Least * unit}
	if len(v.Epsilon) == 0 {
		v.Epsilon = []float64{1}
	}
	return v
}

// Noise are the parameters as the package perturb has them.
func (c *CellKey) Noise() perturb.Noise {
	return perturb.Noise{Max: c.Max, Variance: c.Variance, Least: c.Least}
}

// Perturbs reports whether cells are published with another value than their own.
func (p *Protect) Perturbs() bool {
	return p.CellKey != nil || p.Round != nil || p.Adjust != nil || p.Sample != nil || p.Exchanges()
}

// Exchanges reports whether records change places between cells.
func (p *Protect) Exchanges() bool { return p.Simulate != nil || p.Markov != nil || p.Swap != nil }

// Exchanged is the variable that records then exchange; "" where it is not named.
func (p *Protect) Exchanged() string {
	switch {
	case p.Simulate != nil:
		return p.Simulate.Variable
	case p.Markov != nil:
		return p.Markov.Variable
	case p.Swap != nil:
		return p.Swap.Variable
	}
	return ""
}

// Keyed reports whether that needs keys of records.
func (p *Protect) Keyed() bool {
	return p.CellKey != nil || p.Markov != nil || p.Swap != nil || p.Sample != nil || p.Round != nil &&
		p.Round.Mode == "random"
}

// Rounding are the parameters of rounding.
type Rounding struct {
	Base int    `yaml:"base" required:"true" doc:"the base: every published count is a multiple of it; at least 2"`
	Mode string `yaml:"mode" default:"controlled" enum:"controlled,small,random,nearest" doc:"controlled (default): each count is rounded to one of the two adjacent multiples, so that totals remain sums and the sum of all changes is as small as possible; in two dimensions it always exists, in more dimensions and for linked tables an integer program is searched. small: inner counts below the base become 0 or the base, and totals are computed from them; for any number of dimensions. random: up or down at random without bias, always in the same way for the same contributors; needs key and identity. nearest: to the nearest multiple. With random and nearest, totals are not the sums of the published counts"`

	Patience config.Duration `yaml:"patience" doc:"with controlled: time limit of the search for a rounding in tables of more than two dimensions and in linked tables, such as 5m; the best one that was found by then is used, and another run may find another. By default the search ends after a fixed amount of work, some seconds"`

	Respondents string `yaml:"respondents" default:"protect" enum:"protect,ignore" doc:"protect (default): also protect against respondents, who know their own part of each count; ignore: protect against outsiders only"`
}

// Simulate are the parameters of tables that are drawn anew.
type Simulate struct {
	Variable string `yaml:"variable" doc:"the variable whose codes records exchange: the counts by this variable and the counts by all other variables together do not change; by default the first of rows"`

	Respondents string `yaml:"respondents" default:"protect" enum:"protect,ignore" doc:"protect (default): also protect against respondents, who know their own record; ignore: protect against outsiders only"`
}

// Markov are the parameters of Markov perturbation.
type Markov struct {
	Variable string  `yaml:"variable" doc:"the variable whose codes records exchange: the counts by this variable and the counts by all other variables together do not change; by default the first of rows"`
	Theta    float64 `yaml:"theta" required:"true" doc:"the probability that a record leaves its cell, if fewer records can leave the cell than can enter it; otherwise the probability that a record enters it; above 0, at most 1"`

	Respondents string `yaml:"respondents" default:"protect" enum:"protect,ignore" doc:"protect (default): also protect against respondents, who know their own record; ignore: protect against outsiders only"`
}

// NoMethod has no parameters.
type NoMethod struct{}

// TableGate is what must hold for tables to be published.
type TableGate struct {
	Rules []TableRule `yaml:"rules" doc:"the rules that must hold; each has one limit"`

	AllowRecords []string `yaml:"allow_records" doc:"with a pipeline that has a ledger: names of pipelines whose releases of records may be known beside these tables. What both tell together is then not judged. Without this each such release is judged once more, by its own rules and with the tables, which are withheld if it would not pass, or if that cannot be computed"`
}

// TableRule limits one measure of the tables that it names.
type TableRule struct {
	Table         string   `yaml:"table" default:"*" doc:"a table's name; * (default) is all"`
	MaxDisclosed  *int     `yaml:"max_disclosed" choice:"true" doc:"greatest number of unsafe cells whose value can be computed; 0"`
	MinRange      string   `yaml:"min_range" choice:"true" enum:"rule" doc:"rule: the range that can be inferred for every unsafe cell is as wide as its rule asks"`
	MinEfficiency *float64 `yaml:"min_efficiency" choice:"true" share:"whole" doc:"least share of the cells with contributors that are published with their value, 0 to 1"`
	MaxRisk       *float64 `yaml:"max_risk" choice:"true" doc:"greatest value of 1/entropy, where the entropy is that of the distribution that an intruder assigns to the value of an unsafe cell; above 0. Three equally probable values give 1/ln 3 = 0.91"`
	MinUtility    *float64 `yaml:"min_utility" choice:"true" doc:"least value of 1/(mean squared error) over the cells with contributors, above 0; a cell that is held back is estimated by the middle of its range"`
}

// TabulationOut names the files that say what was done.
type TabulationOut struct {
	JSON  string `yaml:"json" doc:"the report for programs, readable by its owner only; a public report, .public.json, is written beside it"`
	HTML  string `yaml:"html" doc:"the tables as an HTML page with all values and ranges, readable by its owner only; a page with the published cells, .public.html, is written beside it"`
	Cells string `yaml:"cells" doc:"a CSV file with one row per cell, readable by its owner only: true value, contributors, status, the rule that the cell breaks, the required range and the range that can be inferred"`
	JJ    string `yaml:"jj" doc:"all cells and the sums between them in the format JJ, for other cell suppression software, readable by its owner only: value, cost, status, bounds and protection levels; for tables of one value that are protected by suppress or none"`
}

var kind = config.NewKind[Config](
	"sdlfilter tables", "Configuration of the tables that sdlfilter makes, protects and audits.",
	map[reflect.Type]func(*form.Dialect) []form.Member{reflect.TypeFor[TableSink](): sinkMembers})

// Schema is the JSON Schema of a configuration of sdlfilter tables; config/sdlfilter.tables.schema.json is this.
func Schema() ([]byte, error) { return kind.Schema() }

// TableSink is where tables are written: a sink of records, or a workbook of a form of its own.
type TableSink config.Sink

func sinkMembers(d *form.Dialect) []form.Member {
	const doc = "an Excel workbook: a sheet for each table, with the last variable in columns, and a legend"
	return config.SinkMembers(d, "xlsx", doc, func() any { return new(workbook.SinkConfig) })
}

// Load reads a configuration of tables as Load does one of a pipeline. The
// error is of type config.Errors and holds everything that is wrong.
func Load(path string, opts config.Options) (*Config, error) {
	name, text, err := config.ReadFile(path, opts)
	if err != nil {
		return nil, err
	}
	return Parse(name, text, opts)
}

// Parse is Load of a text; file is the name that errors give it.
func Parse(file string, text []byte, opts config.Options) (*Config, error) {
	t := &Config{}
	r, err := kind.Read(file, text, t, opts)
	if err != nil {
		return nil, err
	}
	l := &loader{r}
	t.loaded, t.Warnings, t.Name = l, r.Warnings(), r.Name(t.Name)
	r.Tell(t.Name, &t.Key, t.Source, config.Sink(t.Sink))
	for i := range t.Releases {
		r.Tell(t.Name, &t.Key, t.Releases[i].Source, config.Sink{})
	}
	l.validateTabulation(t)
	if err := l.Err(); err != nil {
		return nil, err
	}
	t.Loosened = l.Loosened(t.Source, config.Sink(t.Sink), t.loosens)
	return t, nil
}

// loader judges a configuration that has been read: what its fields mean together.
type loader struct{ *config.Loader }

// Errorf is an error about the field at path, as Pipeline.Errorf.
func (t *Config) Errorf(path, format string, args ...any) config.Error {
	text := fmt.Sprintf(format, args...)
	if t.loaded == nil {
		return config.Error{Path: path, Text: text, File: "tables " + t.Name}
	}
	return t.loaded.Problem(path, path, text)
}

// SHA256 identifies the configuration as it took effect, in hex.
func (t *Config) SHA256() string {
	if t.digest != "" {
		return t.digest
	}
	sum := sha256.Sum256(kind.Canonical(t))
	return hex.EncodeToString(sum[:])
}

// Variable returns how a variable is configured; one that is not listed has the codes
// of its column.
func (t *Config) Variable(name string) *Variable {
	for i := range t.Hierarchies {
		if t.Hierarchies[i].Name == name {
			return &t.Hierarchies[i]
		}
	}
	return &Variable{Name: name, Total: "total"}
}
