package report

import (
	"math"
	"unicode"
)

// The room on a sheet, in points: a letter page less its margins, its headings, the
// verdict and the table for signatures, and less a tenth for words that are wider than
// the average. A4 is higher.
const (
	boardRoom   = 450.0
	boardHeight = 10.0 // of a line
	boardPad    = 3.0  // of a row of the table
)

// The number of characters in a line of each part, as board.css divides the page.
const (
	figureLabel = 23
	figureValue = 20
	figureRule  = 26
	figureNote  = 44
	halfLine    = 56
)

// lines returns the number of lines of a text. Capitals are wider than the average letter.
func lines(text string, width int) float64 {
	inked := float64(cells(text))
	for _, c := range text {
		switch {
		case c == 'W' || c == 'M' || c == '@':
			inked += 0.8
		case unicode.IsUpper(c):
			inked += 0.35
		}
	}
	return math.Max(1, math.Ceil(inked/float64(width)))
}

// height returns the height of the parts of the sheet that depend on the report.
func (b *board) height() float64 {
	figures := 0.0
	for _, f := range b.Figures {
		most := max(lines(f.Label, figureLabel), lines(f.Text+" "+f.Unit, figureValue), lines("rule: "+f.Rule, figureRule),
			lines(f.Note, figureNote))
		figures += most*boardHeight + boardPad
	}
	list := func(texts []string) (h float64) {
		for _, text := range texts {
			h += lines(text, halfLine)*boardHeight + 1.5
		}
		return h
	}
	var rules []string
	for _, r := range b.Rules {
		rules = append(rules, "✗ "+r.Rule+"; found "+r.Found)
	}
	const facts = 9 // lines that identify the release, in addition to its name
	name := lines(b.Name, boardName) - 1
	return 18*name + figures +
		max(list(rules)+list(b.Remains), list(b.Masks)+facts*boardHeight+lines(b.File, halfLine)*boardHeight)
}

// fit leaves out what the sheet has no room for, the least important first: rules that
// hold, which are among the figures too, then masks, remarks and the last figures. Rules
// that do not hold are left out last.
func (b *board) fit() {
	for b.height() > boardRoom {
		held := len(b.Rules) > 0 && b.Rules[len(b.Rules)-1].Passed
		switch {
		case held:
			b.Rules = b.Rules[:len(b.Rules)-1]
		case len(b.Masks) > 4:
			b.Masks = b.Masks[:len(b.Masks)-1]
		case len(b.Remains) > 3:
			b.Remains = b.Remains[:len(b.Remains)-1]
		case len(b.Figures) > 9:
			b.Figures = b.Figures[:len(b.Figures)-1]
		case len(b.Rules) > 4:
			b.Rules = b.Rules[:len(b.Rules)-1]
		case len(b.Masks) > 2:
			b.Masks = b.Masks[:len(b.Masks)-1]
		case len(b.Remains) > 1:
			b.Remains = b.Remains[:len(b.Remains)-1]
		case b.shorten():
		case len(b.Rules) > 3:
			b.Rules = b.Rules[:len(b.Rules)-1]
		default:
			return // the rest fits, since every text is cut
		}
	}
}

// shorten cuts the sentences and then the figures' words to one line each; false if they are so short already.
func (b *board) shorten() (shorter bool) {
	short := func(s *string) {
		if cells(*s) > boardShort {
			*s, shorter = cut(*s, boardShort), true
		}
	}
	for i := range b.Rules {
		short(&b.Rules[i].Rule)
	}
	for _, list := range [][]string{b.Masks, b.Remains} {
		for i := range list {
			short(&list[i])
		}
	}
	if shorter {
		return true
	}
	for i := range b.Figures {
		f := &b.Figures[i]
		for _, of := range []struct {
			text  *string
			width int
		}{{&f.Label, figureLabel}, {&f.Unit, figureValue / 2}, {&f.Note, figureNote}, {&f.Rule, figureRule - 6}} {
			if lines(*of.text, of.width) > 1 {
				*of.text, shorter = cut(*of.text, of.width/2), true
			}
		}
	}
	return shorter
}
