package report

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/internal/headline"
)

// Headline is the verdict that data users may read. Of the figures of the confidential
// one only the records that were lost are there: their number is public already, since
// the release itself and the source's documentation tell it. All others stay with the
// steward. The share that is linked and what is computed back tell an intruder which
// attack pays. The smallest k and the greatest individual risk tell that somebody
// stands out, and so that a search is worth it. What is known to ± is the noise's λ,
// bias in per cent is the original mean to whoever has the released one, and the
// precision of the mean gives λ too: it is among the columns' figures where publish
// already names all that would follow from it. The limits of the rules are not told
// either: a limit that holds bounds the figure.
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

// recordCells count the records; of a release that was made elsewhere none was put
// into quarantine by anybody here.
func (p *Public) recordCells() []labelled {
	r := &Report{Records: p.Records}
	if p.Measured {
		r.Foreign = &Foreign{}
		return r.recordCells()[:2]
	}
	return r.recordCells()
}
