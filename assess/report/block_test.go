package report

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// Paragraphs of a summary: the indents of the first line and of the others, and labels only where there are any.
func TestParagraphsOfASummary(t *testing.T) {
	s := &summary{Terminal: figure.NewTerminal(false, 60)}
	const words = "a line of words that is a little longer than sixty cells are wide"
	s.paragraph(words)
	s.remark(words)
	s.hanging(words)
	s.wrapped(words)
	s.wrapped("short")
	const want = "  a line of words that is a little longer than sixty cells\n  are wide\n" +
		"  ! a line of words that is a little longer than sixty cells\n    are wide\n" +
		"  a line of words that is a little longer than sixty\n    cells are wide\n" +
		"  a line of words that is a little longer than sixty cells\n    are wide\n" +
		"  short\n"
	if got := s.String(); got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
	if inBrackets("a", "") != "a" || inBrackets("a", "b") != "a (b)" {
		t.Error(inBrackets("a", ""), inBrackets("a", "b"))
	}
}
