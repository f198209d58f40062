package asked

import (
	"strings"
	"testing"
)

func TestParseLinearModel(t *testing.T) {
	for text, want := range map[string]string{
		"y~x":                                 "y ~ x",
		" log(wage) ~ educ + I( educ ^ 2 )  ": "log(wage) ~ educ + I(educ^2)",
		"y ~ 1 + a*b":                         "y ~ a + b + a:b",
		"y ~ a:b:c + `two words` + a:b:c":     "y ~ a:b:c + `two words`",
		"sqrt(y) ~ exp(x1.z) + 1":             "sqrt(y) ~ exp(x1.z)",
		"y ~ 1 + 1a":                          "y ~ 1a",
		"y ~ log + I":                         "y ~ log + I",
		"é ~ ü_1":                             "é ~ ü_1",
		"y ~ a + a*b":                         "y ~ a + b + a:b",
	} {
		m, err := ParseLinearModel(text)
		if err != nil {
			t.Error(err)
			continue
		}
		var terms []string
		for _, term := range m.Terms {
			terms = append(terms, term.String())
		}
		if got := m.Response.String() + " ~ " + strings.Join(terms, " + "); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

func TestParseLinearModelRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "character 1: there must be the name of a column",
		"y":                  "character 2: there must be a tilde",
		"y ~":                "character 4: there must be the name of a column",
		"y ~ 1":              "character 6: there must be a term",
		"y ~ x +":            "character 8: there must be the name",
		"y ~ x - z":          "character 7: there must be +, : or *",
		"é ~ x z":            "character 7: there must be +",
		"y ~ sin(x)":         "character 5: there must be a column, or one of log, sqrt, exp and I",
		"y ~ log(x":          "character 10: there must be a closing parenthesis",
		"y ~ I(x)":           "character 8: there must be ^ and a power",
		"y ~ I(x^7)":         "character 9: there must be a power from 2 to 5",
		"y ~ I(x^1)":         "a power from 2 to 5",
		"y ~ I(x^":           "a power from 2 to 5",
		"y ~ `x":             "a second backtick",
		"y ~ ``":             "a name and a second backtick",
		"y ~ x:x":            "character 5: there must be columns that occur once",
		"y ~ y":              "not the response",
		"y ~ a:b:c:d":        "at most three columns",
		"y ~ a*b*c":          "a * of two",
		"y ~ a*b:c":          "+, : or *",
		"y ~ x ~ z":          "character 7",
		"log(log(y)) ~ x":    "a closing parenthesis",
		"y ~ x; DROP TABLES": "character 6",
	} {
		if _, err := ParseLinearModel(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestWhatAModelNames(t *testing.T) {
	u := &Utility{Models: []string{"log(y) ~ a + b:sqrt(c)", "~", "z ~ I(d^2) + d + e"},
		Regressions: []Regression{{Response: "r", Predictors: []string{"p", "q"}}}}
	for _, name := range []string{"y", "a", "b", "c", "z", "d", "e", "r", "p", "q"} {
		if !u.Names(name) {
			t.Errorf("%s is not named", name)
		}
	}
	if u.Names("log") || (*Utility)(nil).Names("y") || len(u.LinearModels()) != 2 {
		t.Errorf("log, or what is not asked for, is named; %d models", len(u.LinearModels()))
	}
	for column, want := range map[string]bool{"y": false, "a": false, "b": false, "c": true} {
		if got := u.LinearModels()[0].Transforms(column); got != want {
			t.Errorf("%s is transformed: %v", column, got)
		}
	}
	for column, want := range map[string]bool{"d": true, "e": false, "z": false} {
		if got := u.LinearModels()[1].Transforms(column); got != want {
			t.Errorf("%s is transformed: %v", column, got)
		}
	}
}

func FuzzParseLinearModel(f *testing.F) {
	f.Add("log(y) ~ a*b + I(x^2) + `c d`:e")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseLinearModel(text)
		if err != nil {
			return
		}
		if len(m.Columns()) < 2 {
			t.Errorf("%q has %q", text, m.Columns())
		}
	})
}
