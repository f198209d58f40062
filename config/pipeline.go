package config

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Pipeline is a whole configuration: decoded, with defaults filled in, and
// checked.
type Pipeline struct {
	Version   int      `yaml:"version" required:"true" doc:"version of this format; 1"`
	Name      string   `yaml:"name" doc:"the pipeline's name, for reports and messages; by default the file's name without its extension"`
	Key       Secret   `yaml:"key" required:"true" doc:"where the release key is stored: 32 bytes in base64, as sdlfilter keygen makes them; there is no default key"`
	Identity  []string `yaml:"identity" doc:"columns that identify a respondent: the same value of the same respondent is then masked in the same way in every release made with this key; by default a record is identified by its place in its file"`
	Household string   `yaml:"household" doc:"the column with the household of each respondent; may be an identifier. Columns of level household are then masked once for each household, sample draws whole households, suppress protects households, and the risk counts that members are found together and that their values may be one and the same"`
	Weight    string   `yaml:"weight" doc:"the column of sampling weights: how many persons of the population a record stands for. Uniqueness and population uniques are estimated by it unless they name another; may be an identifier. An exact weight that leaves tells records apart: round it, or calibrate it"`
	Source    Source   `yaml:"source" required:"true" doc:"the source; exactly one"`
	// nil where none is given
	Place      *Place           `yaml:"place" doc:"the columns that hold a record's place in the whole dataset, if the source is one of several parts of it; by default a record's place is its place in its file"`
	Shard      *bool            `yaml:"shard" doc:"true: this run is one of several, each of which masks a part of one dataset; without place and identity it is refused, because the first records of all parts would share their noise. false: this run masks the whole dataset, and standard input without place and identity causes no warning"`
	Columns    Columns          `yaml:"columns" required:"true" doc:"the columns that may be released, and what they are, by name; nothing else leaves"`
	Unlisted   string           `yaml:"unlisted" default:"fail" enum:"fail,drop" doc:"what happens to a column of the source that is not listed: fail (default) ends the run at its start, drop leaves the column out"`
	Profile    string           `yaml:"profile" doc:"a file made by sdlfilter profile: the standard deviations that percentages refer to and the decimals of columns, for sources that can be read only once"`
	Masks      []transform.Spec `yaml:"masks" doc:"the masks, in the order in which they apply"`
	Window     Window           `yaml:"window" doc:"the stretch of records within which swap seeks partners"`
	Sink       Sink             `yaml:"sink" required:"true" doc:"the sink; exactly one"`
	Assess     Assess           `yaml:"assess" doc:"how risk and utility are measured"`
	Gate       Gate             `yaml:"gate" doc:"what must hold for the release to be published"`
	Quarantine Quarantine       `yaml:"quarantine" doc:"where the places of records that could not be masked are written, with the reasons; values are never written"`
	Ledger     string           `yaml:"ledger" doc:"a confidential file, or an object (s3://BUCKET/KEY), or a table of PostgreSQL (postgres://USER@HOST:PORT/DATABASE?table=SCHEMA.TABLE, without the password), in which each published release is entered, and by which this one is judged together with those before (docs/ledger.md); only ever added to, and made if it is not there"`
	Report     Report           `yaml:"report" doc:"the risk-and-utility report"`
	// nil where none is given
	Lineage *Lineage `yaml:"lineage" doc:"OpenLineage events of a file job: that it has begun, and how it has ended. They have the names of the released columns, the kinds of the masks, and counts; no value, and no other column"`
	// nil where none is given
	Map *Map `yaml:"map" doc:"what sdlfilter map compares on its R-U confidentiality map; a run ignores this"`

	// Warnings are messages for the user that are not errors: an environment variable that looks
	// like a setting but is none, or a pipeline without masks.
	Warnings []string `yaml:"-"`

	// Loosened are the settings of the environment and the command line that let more
	// out than the file does.
	Loosened []Loosening `yaml:"-"`

	// Joins are the columns by which a project joins the records with those of other tables; no part of the file.
	Joins []string `yaml:"-"`

	loaded *loader // places, for Errorf; nil where the pipeline was not loaded
}

// Column is one listed column.
type Column struct {
	Name     string         `yaml:",name"`
	Role     microdata.Role `yaml:"role" required:"true" enum:"sensitive,key,other,identifier" doc:"sensitive: what a snooper is after; key: what a snooper may know from elsewhere; other: released, neither of these; identifier: never released, must exist"`
	Unit     string         `yaml:"unit" doc:"the unit of the column's values, for reports: USD/week"`
	Decimals *int           `yaml:"decimals" doc:"decimals of the column's values, 0 to 15; by default taken from the data"`
	Missing  Missing        `yaml:"missing" doc:"values that mean that there is none (-9, 97 to 99, refused): no mask changes them and no measure counts them"`
	Level    string         `yaml:"level" enum:"household,person" doc:"household: all members of a household have the same value, which is masked once for each household (with household only); person: each member has a value of its own. A masked column that is found to be the same within households needs one of the two"`
	SameAs   string         `yaml:"same_as" doc:"of a stream of changes: the column with the same content of another time (after_income and before_income); a value then has one draw in both, which must be masked alike. Of an identity column, or that of the household: the column that stands in for it where it is missing, and the other way round"`
	Unmasked bool           `yaml:"unmasked" doc:"for a sensitive column: the column may be released as it is. Without this, it is an error if no mask changes the values of a sensitive column"`
}

// Columns are the listed columns in the order of the file.
type Columns []Column

// Named returns the column of that name, or nil.
func (cs Columns) Named(name string) *Column {
	for i := range cs {
		if cs[i].Name == name {
			return &cs[i]
		}
	}
	return nil
}

// Names returns the columns' names in order.
func (cs Columns) Names() []string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = c.Name
	}
	return names
}

// Window is the stretch of records within which swap seeks partners.
type Window struct {
	Records int      `yaml:"records" default:"65536" doc:"records in a window, 2 to 16777216; windows are cut at multiples of this, so a result does not depend on how the data are stored"`
	Linger  Duration `yaml:"linger" doc:"with a kafka source, how long an incomplete window waits for further records; 5s by default if a stream has a swap within windows"`
}

// Assess says how risk and utility are measured.
type Assess struct {
	Every      Every    `yaml:"every" doc:"how often a snapshot of the measures is emitted during the run; by default never"`
	Emit       []Emit   `yaml:"emit" doc:"where snapshots go"`
	Replicates int      `yaml:"replicates" default:"200" doc:"number of independent replicates of the masking, M, over which risk and utility are averaged; 0: measure the release only"`
	Targets    []string `yaml:"targets" default:"[min, p01, p10, p90, p99, max]" doc:"order statistics that a snooper is after: min, max, and percentiles p01 to p99, also p99.5"`
	Sample     Sample   `yaml:"sample" default:"100000" doc:"size of the keyed sample of pairs of original and released records, from which percentiles and replicates are computed; all: every pair"`
	Keys       []string `yaml:"keys" doc:"columns whose values an intruder may know about a respondent: numeric columns are linked, the others (and those listed in intruder.categorical) are counted; by default, in a file job, the columns whose role is key"`
	Places     []Point  `yaml:"places" doc:"pairs of columns that hold a point of each record, to be verified as those of a donut mask are: how far released points are from the true ones, and how many people live as near"`
	// Privacy is nil where the file says nothing of it.
	Privacy *Privacy `yaml:"privacy" doc:"what differential privacy says of the masks (ε, δ, ρ): a section of the report. Without this section it is computed if a rule limits ε"`
	// Intruder is nil where the file says nothing of it; see AttacksRelease.
	Intruder *Intruder `yaml:"intruder" doc:"whether respondents can be found in the release, measured on the keyed sample; if keys are given and no measure is chosen: linkage by the numeric keys, uniqueness of the other keys"`

	roleKeys []string // the columns with role: key, where they stand for Keys; not part of the text

	uninverted bool // whether the file says inversion: false
}

// Every is how often a snapshot is emitted: by records, by time, or whichever
// comes first. Zero is never.
type Every struct {
	Records  int      `yaml:"records" doc:"emit a snapshot each time this many records have been masked"`
	Interval Duration `yaml:"interval" doc:"emit a snapshot each time this much time has passed: 30s"`
}

// Emit is one place that snapshots go to; exactly one field is not empty.
type Emit struct {
	JSONL string     `yaml:"jsonl" choice:"true" doc:"a file of JSON lines, readable by its owner only"`
	Log   string     `yaml:"log" choice:"true" enum:"debug,info" doc:"the program's log, at the given level"`
	Kafka *EmitTopic `yaml:"kafka" choice:"true" doc:"a topic, on the sink's brokers or, if the sink is not kafka, on the source's; a stream writes it in the same transaction as the records"`
}

// EmitTopic is a topic that snapshots go to.
type EmitTopic struct {
	Topic string `yaml:"topic" required:"true" doc:"the topic's name; everyone who may read the topic sees the confidential measures"`
}

// Gate is what must hold for the release to be published.
type Gate struct {
	OnFail string        `yaml:"on_fail" enum:"withhold,stop,hold,alert" doc:"what happens to a release that breaks a rule. In a file job: withhold (the only choice). In a stream: stop (default; nothing of the open transaction is released), hold (masked records go to the topic given in hold until the rules hold again) or alert"`
	Hold   *HoldTopic    `yaml:"hold" doc:"for on_fail: hold, the restricted topic that receives the masked records meanwhile"`
	Rules  []assess.Rule `yaml:"rules" doc:"what must hold; each rule has one limit"`

	AllowUnchanged *float64 `yaml:"allow_unchanged" share:"whole" doc:"share of a column's released values, 0 to 1, that may be equal to the original even if the law of the masks explains fewer; without it such a release is refused. A rule with max_unchanged sets this share for one column"`

	AllowUnguarded []string `yaml:"allow_unguarded" doc:"with a ledger: sensitive columns that earlier releases masked and this one does not. What this release tells of them together with the earlier ones is not judged, so that without this it is refused"`

	AllowTables []string `yaml:"allow_tables" doc:"with a ledger: names of configurations of tables whose releases may be known beside this one. What they tell together with records is then not judged. Without this it is, where it can be computed, and else rules about all releases do not hold"`

	MaxQuarantined *float64 `yaml:"max_quarantined" share:"whole" doc:"in a file job: greatest share of the records that may go to quarantine, 0 to 1; by default 1%. If no record is left, the release is refused in any case"`

	MaxLost int64 `yaml:"max_lost" default:"0" doc:"in a stream: greatest number of the source's records that may be lost (removed before they were read, or skipped), of all runs together. With more, the report says so and the exit status is 1"`

	given bool // whether the file has one
}

// MaxQuarantined is the share of records in quarantine above which a release is withheld if
// the configuration states none.
const MaxQuarantined = 0.01

// What becomes of a release that breaks a rule.
const (
	Withhold = "withhold" // a file job: nothing is published
	Stop     = "stop"     // a stream: nothing of the open transaction is released, and the run ends
	Hold     = "hold"     // a stream: masked records go to a restricted topic
	Alert    = "alert"    // a stream: it is said, and the stream goes on
)

// HoldTopic is the topic that takes masked records while a rule is broken.
type HoldTopic struct {
	Topic string `yaml:"topic" required:"true" doc:"the topic's name, on the sink's brokers; only those who judge the release should be able to read it"`
}

// Quarantine says where records that could not be masked are noted; at most one
// field is not empty.
type Quarantine struct {
	JSONL string           `yaml:"jsonl" choice:"true" doc:"a file of JSON lines with the place and the reason for each record, readable by its owner only"`
	Kafka *QuarantineTopic `yaml:"kafka" choice:"true" doc:"a topic, on the sink's brokers or, if the sink is not kafka, on the source's; a stream writes it in the same transaction as the records"`
}

// QuarantineTopic is a topic that places and reasons go to.
type QuarantineTopic struct {
	Topic string `yaml:"topic" required:"true" doc:"the topic's name"`
}

// Report names the files of the report.
type Report struct {
	JSON    string   `yaml:"json" doc:"the report for programs, readable by its owner only; a public report, .public.json, with what publish allows, is written beside it"`
	HTML    string   `yaml:"html" doc:"the report for people, readable by its owner only; a public report, .public.html, with what publish allows, is written beside it"`
	Board   string   `yaml:"board" doc:"one page (HTML) for the release board, to be printed on A4 or letter and signed, readable by its owner only: verdict, figures, rules, what was done, what remains, digest of the release"`
	XLSX    string   `yaml:"xlsx" doc:"the tables of the report as an Excel workbook, readable by its owner only"`
	Map     string   `yaml:"map" doc:"a map.json made by sdlfilter map --out: the HTML report draws the map's strategies as curves behind the release's points"`
	Publish []string `yaml:"publish" doc:"names of mask parameters that are published for data users: sd, rate, …"`
}

// Duration is a length of time, written as 30s, 1m30s, 500ms.
type Duration = connectors.Duration

// Sample is a number of records; All stands for every one.
type Sample int

// All is the sample that holds every record.
const All Sample = -1

// UnmarshalText reads a number or the word all.
func (s *Sample) UnmarshalText(text []byte) error {
	if string(text) == "all" {
		*s = All
		return nil
	}
	v, err := strconv.Atoi(string(text))
	if err != nil || !form.WholeNumber(string(text)) || v < 1 {
		return fmt.Errorf("must be a whole number of at least 1, or all, got %q", text)
	}
	*s = Sample(v)
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (s Sample) MarshalText() ([]byte, error) {
	if s < 0 {
		return []byte("all"), nil
	}
	return strconv.AppendInt(nil, int64(s), 10), nil
}

var (
	_ encoding.TextMarshaler = Duration(0)
	_ encoding.TextMarshaler = Sample(0)
)

// PublicPath is the name beside a report's that the public version has:
// out/report.public.json for out/report.json.
func PublicPath(path string) string {
	if path == "" {
		return ""
	}
	dot := strings.LastIndexByte(path, '.')
	if dot <= strings.LastIndexByte(path, '/')+1 {
		return path + ".public"
	}
	return path[:dot] + ".public" + path[dot:]
}

// Errorf is an error about the field at path ("columns.wage", "masks[0].noise"), with its
// place in the file, or that of the field around it. Code that opens the data uses it, for
// example to report a missing column.
func (p *Pipeline) Errorf(path, format string, args ...any) Error {
	text := fmt.Sprintf(format, args...)
	if p.loaded == nil {
		return Error{Path: path, Text: text, File: "pipeline " + p.Name}
	}
	return p.loaded.Problem(path, path, text)
}

// MaskPath is the path of a mask's parameters, for Errorf: "masks[1].noise".
func (p *Pipeline) MaskPath(i int) string {
	return fmt.Sprintf("masks[%d].%s", i, p.Masks[i].Kind())
}
