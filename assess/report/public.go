package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/headline"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// PublicSchemaName is the value of a public report's "schema" member.
const PublicSchemaName = "sdlfilter.report.public/1"

// Public is the part of a report that may go to the users of the data. It holds
// aggregates only: no value of a respondent, so no minimum or maximum, no target,
// no distribution; no moment of the original data; no parameter of a mask that
// the steward did not name, and nothing from which one follows: not the number of
// records that a mask changed (a swap's rate), not the configuration's hash (which
// confirms guesses), not an efficiency that discloses an unpublished λ. What goes by the original
// data, λ of a percentage and the efficiency, is rounded (assess.Coarse): two releases of data
// that differ by one record must not tell its value.
type Public struct {
	Schema    string                `json:"schema"`
	Name      string                `json:"name"`
	Version   string                `json:"version"`
	Started   string                `json:"started"`  // date
	Finished  string                `json:"finished"` // date
	Records   Records               `json:"records"`
	Columns   Ordered[PublicColumn] `json:"columns"`
	Labels    []microdata.Said      `json:"labels,omitempty"` // as the release has them
	Masks     []PublicMask          `json:"masks"`
	Published []string              `json:"published"` // names of the parameters that the steward publishes
	Gate      PublicGate            `json:"gate"`
	// Measured says that the release was made elsewhere, and that no gate judged it.
	Measured bool `json:"measured,omitempty"`
	// Verdict is the Headline at the time when the report is written; no other code sets it.
	Verdict *headline.Headline `json:"verdict"`
	// Privacy has the columns of whose masks all parameters are published.
	Privacy []assess.ColumnPrivacy `json:"privacy,omitempty"`
	// Ledger says that the release was judged by the rules of the gate together with the earlier ones of a ledger.
	Ledger  bool     `json:"ledger,omitempty"`
	Release *Release `json:"release,omitempty"` // the file that the report is about
	Note    *Note    `json:"note,omitempty"`    // for data users; nil if nothing was masked
}

// PublicColumn describes a released column.
type PublicColumn struct {
	Unit     string         `json:"unit,omitempty"`
	Masked   bool           `json:"masked"`
	Released PublicMoments  `json:"released"`
	Utility  *PublicUtility `json:"utility,omitempty"`
}

// PublicMoments are moments of released values. SD has divisor n−1. Mean and SD are missing for a
// column of codes, for fewer than leastForMoments values, and for values that are all the same.
type PublicMoments struct {
	N     int64        `json:"n"`
	Nulls int64        `json:"nulls"`
	Mean  assess.Float `json:"mean"`
	SD    assess.Float `json:"sd"`
}

// PublicUtility is U/U₀ of a masked column.
type PublicUtility struct {
	Efficiency assess.Float `json:"efficiency"`
}

// PublicMask is a mask with its published parameters.
type PublicMask struct {
	Mask       string                `json:"mask"`
	Columns    []string              `json:"columns"`
	Parameters Ordered[any]          `json:"parameters,omitempty"`
	NoiseSD    Ordered[assess.Float] `json:"noise_sd,omitempty"`
}

// PublicGate says only whether the release met the steward's rules, and whether
// there were any.
type PublicGate struct {
	Passed   bool `json:"passed"`
	Demanded bool `json:"demanded"`
}

// leastForMoments is the least number of values for which a mean and an SD are public: the usual
// rule of output checking for the units behind a figure. The mean of one value is the value, and
// two values follow from their mean and SD.
const leastForMoments = 10

// tellsOfOne reports whether the moments could disclose a single value.
func tellsOfOne(m assess.Moments) bool { return m.N < leastForMoments || m.SD == 0 }

// Public returns the public report with the parameters listed in publish, by their
// names in the configuration: sd, phi, rate, …. With "efficiency", every masked
// column's efficiency is published; without it, a column shows its efficiency only
// if publish already has all parameters that would follow from it.
func (r *Report) Public(publish []string) *Public {
	p := &Public{
		Schema: PublicSchemaName, Name: r.Name, Version: r.Version,
		Started: r.Started.UTC().Format(time.DateOnly), Finished: r.Finished.UTC().Format(time.DateOnly),
		Records: Records{
			Counts: microdata.Counts{Read: r.Records.Read, Released: r.Records.Released, Quarantined: r.Records.Quarantined,
				LeftOut: r.Records.LeftOut}},
		Columns: Ordered[PublicColumn]{}, Masks: []PublicMask{},
		Published: full(slices.Clone(publish)),
		Gate:      PublicGate{Passed: r.Gate.Passed && r.Withheld == "", Demanded: len(r.Gate.Rules) > 0},
		Measured:  r.Foreign != nil,
		Release:   r.Release.public(),
	}
	if p.Gate.Passed {
		p.Labels = r.Labels
	}
	for _, c := range r.Columns {
		column := PublicColumn{Unit: c.Unit, Masked: c.Masked, Released: PublicMoments{
			N: c.Released.N, Nulls: c.Released.Nulls, Mean: c.Released.Mean, SD: c.Released.SD,
		}}
		if slices.Contains(r.Codes, c.Name) || tellsOfOne(c.Released) {
			column.Released.Mean, column.Released.SD = assess.Float(math.NaN()), assess.Float(math.NaN())
		}
		if c.Masked && r.efficiencyFollows(c.Name, publish) {
			column.Utility = &PublicUtility{Efficiency: coarse(c.Utility.Efficiency, c.Released.N)}
		}
		p.Columns = append(p.Columns, Member[PublicColumn]{c.Name, column})
	}
	for _, m := range r.Masks {
		mask := PublicMask{Mask: m.Mask, Columns: full(slices.Clone(m.Columns))}
		for _, parameter := range m.Parameters {
			if !slices.Contains(publish, parameter.Name) {
				continue
			}
			if parameter.Name == "sd" && len(m.NoiseSD) > 0 {
				// Users correct with λ in the column's unit. Together with it, the
				// percentage would disclose the original SD.
				mask.NoiseSD = r.publicNoise(m.NoiseSD, parameter.Value)
				continue
			}
			mask.Parameters = append(mask.Parameters, parameter)
		}
		p.Masks = append(p.Masks, mask)
	}
	p.Privacy, p.Ledger = r.publicPrivacy(publish), r.Ledger != nil
	p.Note = p.note(r.Masks)
	if words := r.missingWords(p.Labels); words != "" && p.Note != nil {
		p.Note.General = append(p.Note.General, words)
	}
	p.Verdict = p.Headline()
	return p
}

// publicNoise returns λ as far as data users may know it. A λ that is a percentage of the column's SD is rounded, since
// the exact ones of two releases would be in the ratio of two SDs, from which the value of a record follows that one
// of them lacks.
func (r *Report) publicNoise(exact Ordered[assess.Float], sd any) Ordered[assess.Float] {
	list := slices.Clone(exact)
	if _, number := sd.(float64); number {
		return list
	}
	for i := range list {
		n := int64(0)
		if k := slices.IndexFunc(r.Columns, func(c assess.ColumnMeasures) bool { return c.Name == list[i].Name }); k >= 0 {
			n = r.Columns[k].Released.N
		}
		list[i].Value = coarse(list[i].Value, n)
	}
	return list
}

// coarse rounds a figure of n values that goes by itself; there is none of fewer than leastForMoments.
func coarse(v assess.Float, n int64) assess.Float {
	if n < leastForMoments {
		return assess.Float(math.NaN())
	}
	return assess.Coarse(v, v, n)
}

// efficiencyFollows reports whether a column's efficiency discloses nothing that publish does
// not already list. Together with the released SD it gives the variance that masks added: λ² of
// noise and φ² of bias. It is false for a mask that does not declare what follows from the
// efficiency.
func (r *Report) efficiencyFollows(column string, publish []string) bool {
	named := func(name string) bool { return slices.Contains(publish, name) }
	if named("efficiency") {
		return true
	}
	for _, m := range r.Masks {
		if !slices.Contains(m.Columns, column) {
			continue
		}
		kind := transform.PublishingKind(m.Mask)
		if kind == nil || !kind.EfficiencyFollows(func(name string) bool {
			_, ok := m.Parameters.Get(name)
			return ok
		}, named) {
			return false
		}
	}
	return true
}

// JSON returns the public report as indented JSON with a newline at the end.
func (p *Public) JSON() ([]byte, error) {
	return indented(p, "public report")
}

// ParsePublic reads what Public.JSON writes.
func ParsePublic(text []byte) (*Public, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	p := new(Public)
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("public report: %w", safe(err))
	}
	if p.Schema != PublicSchemaName {
		return nil, fmt.Errorf("public report: schema: must be %q", PublicSchemaName)
	}
	return p, nil
}
