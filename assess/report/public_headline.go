package report

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/internal/headline"
)

// Headline returns the verdict for data users. Of the confidential figures it has only the
// number of lost records, which is public already, since it follows from the release and the
// source's documentation. All others stay with the steward. The share of linked records and of
// values computed back would tell an intruder which attack succeeds. The smallest k and the
// greatest individual risk show that somebody stands out, so that a search is worthwhile. The
// error with which a value is known is the noise's λ. Bias in per cent discloses the original
// mean to everybody who has the released one. The precision of the mean discloses λ too; it is
// among the columns' figures if publish already has all parameters that follow from it. The
// limits of the rules are left out too: a limit that holds bounds the figure.
func (p *Public) Headline() *headline.Headline {
	h := &headline.Headline{Figures: []headline.Figure{}}
	if !p.Measured {
		h.Figures = append(h.Figures, (&Report{Records: p.Records}).lostFigure())
	}
	switch {
	case p.Measured:
		h.Word, h.Tone = "Measured", headline.Neutral
		h.Line = "This release was made elsewhere. It was measured, and no rule on disclosure risk and data utility was set."
	case !p.Gate.Passed:
		h.Word, h.Tone = "Gate not passed", headline.Bad
		h.Line = "The release does not meet the data steward’s rules on disclosure risk and data utility."
	case !p.Gate.Demanded:
		h.Word, h.Tone = "Released, nothing was demanded", headline.Neutral
		h.Line = "The data steward set no rule on disclosure risk and data utility."
	default:
		h.Word, h.Tone = "Gate passed", headline.Good
		h.Line = "The release meets the data steward’s rules on disclosure risk and data utility."
	}
	if n := p.Records.Quarantined; n > 0 {
		h.Tone = h.Tone.Worse(headline.Amber)
		h.Line += fmt.Sprintf(" %s could not be masked and %s left out.", counted(n, "record"), wasOrWere(n))
	}
	return h
}

// recordCells returns the numbers of records. For a release that was made elsewhere there is no
// number of records in quarantine.
func (p *Public) recordCells() []labelled {
	r := &Report{Records: p.Records}
	if p.Measured {
		r.Foreign = &Foreign{}
		return r.recordCells()[:2]
	}
	return r.recordCells()
}
