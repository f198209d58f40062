package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/headline"
	"github.com/sdlfilter/sdlfilter/internal/picture"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// SchemaName is the value of a report's "schema" member.
const SchemaName = "sdlfilter.report/1"

// Report describes one run, or a stream so far. It is confidential: it contains extremes
// and moments of the original data. Public returns the report that may be handed on.
type Report struct {
	Schema       string    `json:"schema" doc:"identifies the kind of this object and the version of its format"`
	Name         string    `json:"name" doc:"name of the pipeline"`
	Version      string    `json:"version" doc:"version of the program"`
	Started      time.Time `json:"started"`
	Finished     time.Time `json:"finished"`
	ConfigSHA256 string    `json:"config_sha256" doc:"SHA-256 of the configuration"`
	KeyID        string    `json:"key_id" doc:"identifies the key that made the release; it is not the key"`
	// k ≥ 1 of a snapshot; 0: the report of a whole run
	Snapshot     int64                 `json:"snapshot,omitempty" doc:"number of the snapshot; absent from the report of a whole run"`
	Window       *Window               `json:"window,omitempty" doc:"in a snapshot: the measures of the records since the last snapshot"`
	Records      Records               `json:"records"`
	Columns      Columns               `json:"columns"`
	Correlation  assess.Correlation    `json:"correlation"`
	Masks        []Mask                `json:"masks"`
	MissingCodes []assess.MissingCodes `json:"missing_codes,omitempty" doc:"of columns with declared codes for missing values (columns.X.missing): how often each occurs. No mask changes them and no other figure counts them, except that a key has them as categories of their own"`
	Labels       []microdata.Said      `json:"labels,omitempty" doc:"what the release says of its columns besides their values"`
	Places       []Place               `json:"places,omitempty" doc:"points of two columns each that masks displace or that assess.places lists: how far released points are from the true ones, and how many people a snooper cannot tell apart there"`
	Weighted     *assess.Weighted      `json:"weighted,omitempty" doc:"statistics with the sampling weights before and behind the masks, and the utility of the weighted mean; absent without a column of weights, and of streams"`
	Privacy      *assess.Privacy       `json:"privacy,omitempty" doc:"what differential privacy says of the masks, by the configuration, and by which columns carry the same values; absent if neither assess.privacy nor a rule asks for it"`
	Ledger       *Ledger               `json:"ledger,omitempty" doc:"the earlier releases of the ledger that the configuration names; absent without one"`
	Gate         assess.Verdict        `json:"gate"`
	// whether respondents can be found again
	Attack    *attack.Result `json:"attack,omitempty" doc:"whether respondents can be found again; absent if this was not measured"`
	Sampled   *Sampling      `json:"sampled,omitempty" doc:"what is exact and what is sampled"`
	Recreated []string       `json:"recreated,omitempty" doc:"in a stream: partitions whose assessment has begun anew because their topic was deleted and made again, or has lost its last records"`
	Warnings  []string       `json:"warnings,omitempty" doc:"what the steward should know before the release is used"`
	// why the release was withheld; empty: it was not
	Withheld string `json:"withheld,omitempty" doc:"why the release was withheld; absent if it was not"`
	// settings that disclose more than the configuration file does
	Loosened []Loosened `json:"loosened,omitempty"`
	// of a stream that its gate has stopped: what was released and what was not
	Stopped *Stopped `json:"stopped,omitempty"`
	// the files that this is about
	Release *Release `json:"release,omitempty"`

	// Copies has an entry for each copy if a run has made several releases, each with draws of
	// its own; everything else is about the first, or the first that was refused.
	Copies []Copy `json:"copies,omitempty" doc:"each release of a run that makes several releases of the same data. Columns, records and the intruder's results are those of the first release, or of the first one that the gate refuses; R is the risk from a snooper who has all releases"`

	// Foreign is set if the release was made by another tool and only measured here.
	Foreign *Foreign `json:"foreign,omitempty" doc:"present if the release was made by other software: it was measured, but no gate judged it"`

	// Verdict is the Headline at the time when the report is written; no other code sets it.
	Verdict *headline.Headline `json:"verdict" doc:"the verdict and its main figures, with which every view of the report begins"`

	// IdentifiedByPlace counts the records whose identity columns were all null or empty.
	IdentifiedByPlace int64 `json:"identified_by_place,omitempty" doc:"number of records whose identity columns were all null or empty and that were therefore identified by their place"`

	// Alternatives are maps on data for its columns, whose strategies the page draws
	// as curves behind the release's points. They are not part of the JSON.
	Alternatives []*rumap.Map `json:"-"`

	// Codes are columns whose numbers are names of categories, such as that of a region:
	// the public report has no mean and no SD of them. They are not part of the JSON.
	Codes []string `json:"-"`

	// Pictures are columns before and after, which the page draws. They are not part of
	// the JSON.
	Pictures []picture.Pair `json:"-"`
}

// Records counts the records of a run.
type Records struct {
	microdata.Counts
	// MaxQuarantined is nil if losses are not judged: for streams, snapshots and releases made
	// by another tool.
	MaxQuarantined *assess.Float `json:"max_quarantined,omitempty" doc:"greatest share of records in quarantine, configured or by default: with a greater share the release is withheld; absent if losses are not judged"`
	// Reasons counts the records in quarantine by "column: reason", or by the reason alone if
	// a whole record was malformed.
	Reasons map[string]int64 `json:"quarantine_by_reason,omitempty"`

	// What a stream has noticed to be missing from its figures; see docs/streams.md, Gaps.
	Lost       int64 `json:"lost,omitempty" doc:"in a stream: offsets of the source that were never read, because their records were removed before (retention) or skipped (the group's offset was set forward); some may have held no record"`
	Repeated   int64 `json:"repeated,omitempty" doc:"in a stream: offsets of the source that were read again after the group's offset was set back, or with at_least_once after writing failed; readers of the release see their records twice, and the figures count each once"`
	Unassessed int64 `json:"unassessed,omitempty" doc:"in a stream: offsets whose records were released and are in no figure, because the state topic was lost or the source's topic was deleted and made again"`
}

// Foreign describes a release that was made by another tool.
type Foreign struct {
	Unmatched int64 `json:"unmatched" doc:"number of original records without a released record"`
}

// Stopped counts what a stream that its gate has stopped had released before. What was
// committed cannot be taken back.
type Stopped struct {
	// records that had been released before, by this run and the runs that it continues; they stay released
	Left    int64 `json:"left"`
	NotLeft int64 `json:"not_left"` // masked records of the open transaction, which was aborted
}

// Words describes what was released and what was not, in one sentence.
func (s *Stopped) Words() string {
	left := count(s.Left) + " records had been released before and stay released"
	switch s.Left {
	case 0:
		left = "nothing had been released before"
	case 1:
		left = "1 record had been released before and stays released"
	}
	if s.NotLeft == 1 {
		return left + "; 1 record of the open transaction was not released"
	}
	return left + "; " + count(s.NotLeft) + " records of the open transaction were not released"
}

// Loosened is a setting of the environment or the command line that disclosed more than
// the configuration file does, or may have.
type Loosened struct {
	Path   string `json:"path"`           // of the field
	Origin string `json:"origin"`         // the variable or flag
	From   string `json:"from,omitempty"` // the value in the file; empty if it has none
	To     string `json:"to"`
}

// Window holds the measures of the records since the last snapshot.
type Window struct {
	Started     time.Time          `json:"started"`
	Finished    time.Time          `json:"finished"`
	Records     Records            `json:"records"`
	Columns     Columns            `json:"columns"`
	Correlation assess.Correlation `json:"correlation"`
}

// Columns are the measures of the released columns, in the order of the release.
// Their JSON form is an object by name that keeps this order.
type Columns []assess.ColumnMeasures

// Sampling describes which figures of a report are exact and which are computed from a sample.
type Sampling struct {
	Pairs      int64    `json:"pairs" doc:"number of assessed pairs (original, released)"`
	Sample     int      `json:"sample" doc:"number of pairs in the keyed sample"`
	Replicates int      `json:"replicates" doc:"number of replicates, M"` // M; 0: R and U of the release alone
	Exact      []string `json:"exact"`                                    // sentences on what is exact
	FromSample []string `json:"from_sample"`
}

// SetMeasures puts the result of an assessment into the report, and describes what is exact and
// what is sampled.
func (r *Report) SetMeasures(m *assess.Measures) {
	r.Columns, r.MissingCodes = Columns(m.Columns), m.MissingCodes
	r.Correlation = m.Correlation
	if r.Sampled = nil; len(m.Columns) == 0 {
		return // nothing is measured, and so nothing sampled
	}
	s := Sampling{Pairs: m.Records, Sample: m.Sample}
	for _, c := range m.Columns {
		for _, k := range c.Risk {
			s.Replicates = max(s.Replicates, k.Replicates)
		}
	}
	s.Exact = []string{
		"Over all assessed pairs: n, nulls, mean, SD, least and greatest value, mean squared difference, correlation matrices, and U and U₀ of the release itself.",
		"Realised R of the typical target (index) and of the minimum and the maximum.",
	}
	basis := "all assessed pairs"
	if int64(s.Sample) < s.Pairs {
		basis = fmt.Sprintf("a keyed sample of %s of %s pairs", count(int64(s.Sample)), count(s.Pairs))
	}
	if s.Replicates > 0 {
		s.FromSample = append(s.FromSample, fmt.Sprintf(
			"R, known to ±, U, efficiency and bias are expectations over M = %d masked replicates of %s. For noise near normal the Monte-Carlo standard error of R is about %.0f %%, √(2/M); it stands beside each R and U.",
			s.Replicates, basis, 100*math.Sqrt(2/float64(s.Replicates))))
	} else {
		s.FromSample = append(s.FromSample,
			"There were no replicates: R, U, efficiency and bias are those of this one release.")
	}
	s.FromSample = append(s.FromSample,
		"Percentile targets and distributions: from "+basis+". No bin shows fewer than 10 respondents.")
	r.Sampled = &s
}

// MarshalJSON writes the members in the documented order, empty lists as [] and times in
// UTC.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	p := plain(r)
	p.Schema, p.Verdict = SchemaName, r.Headline()
	p.Started, p.Finished = p.Started.UTC(), p.Finished.UTC()
	p.Correlation = fullCorrelation(p.Correlation)
	if p.Window != nil {
		w := *p.Window
		w.Started, w.Finished = w.Started.UTC(), w.Finished.UTC()
		w.Correlation = fullCorrelation(w.Correlation)
		p.Window = &w
	}
	if p.Masks == nil {
		p.Masks = []Mask{}
	}
	if p.Gate.Rules == nil {
		p.Gate.Rules = []assess.RuleVerdict{}
	}
	if p.Sampled != nil {
		s := *p.Sampled
		s.Exact, s.FromSample = full(s.Exact), full(s.FromSample)
		p.Sampled = &s
	}
	return marshal(p)
}

// marshal is json.Marshal without the escaping of <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// full returns an empty list for a nil one.
func full(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func fullCorrelation(c assess.Correlation) assess.Correlation {
	c.Columns = full(c.Columns)
	if c.Original == nil {
		c.Original = [][]assess.Float{}
	}
	if c.Released == nil {
		c.Released = [][]assess.Float{}
	}
	return c
}

// JSON returns the report as indented JSON with a newline at the end. The bytes
// are confidential.
func (r *Report) JSON() ([]byte, error) {
	return indented(r, "report")
}

func indented(v any, what string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return b.Bytes(), nil
}

// Parse reads what JSON writes. It refuses another schema; its errors name the
// place, never a value.
func Parse(text []byte) (*Report, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("report: not a JSON object: %w", safe(err))
	}
	if head.Schema != SchemaName {
		return nil, fmt.Errorf("report: schema: must be %q", SchemaName)
	}
	r := new(Report)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("report: %w", safe(err))
	}
	r.Verdict = nil // Headline computes it again
	return r, nil
}
