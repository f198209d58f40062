package report

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Ledger is what a report says of the earlier releases of a ledger.
type Ledger struct {
	Entry    int64            `json:"entry" doc:"number of the entry that this release has or would have had in the ledger"`
	Previous string           `json:"previous" doc:"SHA-256 of the line before it: a ledger without this line is not whole"`
	Not      string           `json:"not,omitempty" doc:"why it is not known what all releases together tell; rules that are about them then do not hold"`
	Releases []EarlierRelease `json:"releases" doc:"the earlier releases that count as published"`
	Tables   []EarlierTables  `json:"tables,omitempty" doc:"the tables of the records that count as published; what they tell together with this release is not judged, but for those that follow from what was released of the records"`
	Privacy  *assess.Privacy  `json:"privacy,omitempty" doc:"what differential privacy says of all releases together, one after the other; absent if neither assess.privacy nor a rule asks for it"`
}

// EarlierTables is a release of tables in the ledger.
type EarlierTables struct {
	Number int64    `json:"number" doc:"number of its entry"`
	Name   string   `json:"name" doc:"name of the configuration of the tables"`
	Tables []string `json:"tables" doc:"the tables, in words: what is counted or summed, by which variables, and how it is protected"`
	Judged bool     `json:"judged,omitempty" doc:"whether what they tell together with the records is judged"`
}

// EarlierRelease is one release of the ledger.
type EarlierRelease struct {
	Number  int64        `json:"number" doc:"number of its entry"`
	Name    string       `json:"name" doc:"name of its pipeline"`
	Same    bool         `json:"same_draws" doc:"whether the same value of the same respondent had the draws that it has today; if not, the draws are taken to be independent"`
	Repeats bool         `json:"repeats" doc:"whether this release repeats it, draw by draw"`
	Share   assess.Float `json:"share" doc:"about which share of today's respondents were in it, by sketches of keyed digests; null without identity, and under another key. Below a half, also of its respondents who are among today's, it is not known what all releases tell"`
}

// ledgerWords describes the earlier releases, and what they tell, in sentences.
func (r *Report) ledgerWords() (lines []string) {
	l := r.Ledger
	if l == nil {
		return nil
	}
	if len(l.Releases) == 0 {
		lines = append(lines, "No earlier release is in the ledger.")
	} else {
		lines = append(lines, fmt.Sprintf("%s in the ledger; the risk by all_releases is that of a snooper who has them too.",
			releases(len(l.Releases))))
	}
	for _, e := range l.Releases {
		text := fmt.Sprintf("release %d (%s): ", e.Number, e.Name)
		switch {
		case e.Repeats:
			text += "repeated by this one, draw by draw"
		case e.Same:
			text += "the same draws for equal values"
		default:
			text += "independent draws"
		}
		if share := float64(e.Share); share == share {
			text += fmt.Sprintf("; about %.0f %% of today's respondents", 100*share)
		}
		lines = append(lines, text)
	}
	if l.Not != "" {
		lines = append(lines, "Not known what they tell together: "+l.Not)
	}
	for i := range r.Columns {
		all, alone := typicalOf(&r.Columns[i], assess.KnowledgeAllReleases), typicalOf(&r.Columns[i], assess.KnowledgeRecord)
		if all != nil && alone != nil && all.R == all.R && len(l.Releases) > 0 {
			lines = append(lines,
				fmt.Sprintf("%s: a typical value is known to ± %.3g%s by all releases, and to ± %.3g%s by this one alone",
					r.Columns[i].Name, float64(all.RMSE), unitAfter(r.Columns[i].Unit), float64(alone.RMSE),
					unitAfter(r.Columns[i].Unit)))
		}
	}
	if l.Privacy != nil {
		lines = append(lines, lossWords("all releases together, all records of a "+l.Privacy.Unit, l.Privacy.Person))
		for i := range l.Privacy.Columns {
			lines = append(lines,
				lossWords("all releases together, "+l.Privacy.Columns[i].Column, l.Privacy.Columns[i].PrivacyLoss))
		}
	}
	return lines
}

func lossWords(what string, l assess.PrivacyLoss) string {
	if e := float64(l.Epsilon); e == e {
		text := fmt.Sprintf("%s: ε %s", what, trimmed(e))
		if l.Not != "" {
			text += "; " + l.Not
		}
		return text
	}
	return what + ": no ε; " + l.Not
}

func releases(n int) string {
	if n == 1 {
		return "1 earlier release"
	}
	return fmt.Sprintf("%d earlier releases", n)
}

// typicalOf returns the risk of the typical record under a knowledge state; nil if it is not there.
func typicalOf(c *assess.ColumnMeasures, knowledge string) *assess.Risk {
	for i := range c.Risk {
		if k := &c.Risk[i]; k.Target == assess.TargetTypical && k.Knowledge == knowledge {
			return k
		}
	}
	return nil
}

// ledger writes what is said of earlier releases.
func (s *summary) ledger(r *Report) {
	lines := r.ledgerWords()
	if lines == nil {
		return
	}
	s.Line(s.bold("All releases in the ledger"))
	for _, line := range lines {
		s.hanging(line)
	}
	s.Line("")
}
