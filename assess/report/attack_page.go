package report

import (
	"time"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/headline"
	"github.com/sdlfilter/sdlfilter/internal/picture"
)

// Attack is an attack without a run: on a release that any tool made, or on what a
// configuration would release.
type Attack struct {
	Result   *attack.Result
	Name     string
	Version  string // of the program
	Finished time.Time
	Foreign  bool           // the release was made by another tool
	Warnings []string       // what the attack does not include
	Pictures []picture.Pair // columns before and after, for the page
}

// Headline returns a headline with the verdict "measured": an attack releases nothing and judges
// nothing. Its sentence is the worst finding.
func (a *Attack) Headline() *headline.Headline {
	s := subjectOf(a.Result)
	if a.Foreign {
		s.Unknown = masksUnknown
	}
	h := &headline.Headline{Word: "Measured", Line: findings(a.Result)[0], Tone: headline.Neutral}
	if len(a.Warnings) > 0 {
		h.Tone = headline.Amber
	}
	h.Figures, h.Assumptions = headline.Respondents(s, nil)
	return h
}

// HTML returns the attack as one page that loads nothing from elsewhere. It is
// confidential.
func (a *Attack) HTML() ([]byte, error) {
	path := "" // the attack is the root of its JSON
	view := struct {
		Name, Version  string
		Warnings       []string
		Headline       headlineView
		When, Finished string
		Records        []labelled
		Attack         *attackView
		Pairs          []pairView
		Citation       citation
	}{
		Name: a.Name, Version: a.Version, Warnings: a.Warnings,
		Attack: viewAttack(a.Result, path), Headline: headlineView{a.Headline(), path + "/verdict"},
		When: a.Finished.UTC().Format("2006-01-02T15:04:05Z"), Finished: a.Finished.UTC().Format("2 January 2006, 15:04 UTC"),
		Records: []labelled{
			{Label: "records", cell: whole(path+"/records", a.Result.Records)},
			{Label: "respondents sought", cell: whole(path+"/targets", int64(a.Result.Targets))},
		},
		Pairs: pairViews(a.Pictures, nil), Citation: citation{Version: a.Version},
	}
	return render(attackPage, "attack", view)
}

// JSON returns the attack with its verdict as indented JSON with a newline at the end.
// The bytes are confidential.
func (a *Attack) JSON() ([]byte, error) {
	r := *a.Result
	r.Verdict = a.Headline()
	return indented(r, "attack")
}
