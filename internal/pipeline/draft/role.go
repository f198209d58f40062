package draft

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Guess is the guessed role of a column, with the reason.
type Guess struct {
	Role   microdata.Role
	Why    string
	Unsure bool // the data fit another role as well
}

// rolesByName lists words of column names, in the order in which they are tried. A name is
// divided into words at underscores, points, spaces, digits and changes of case.
var rolesByName = []struct {
	role  microdata.Role
	what  string
	words string
}{
	{microdata.Identifier, "a person's or firm's identifier", `id|ids|hid|hhid|uid|uuid|guid|pid|key|ssn|sin|nin|nif|nir|bsn|cpr|cpf|ein|vat|tin|passport|licence|license|plate|iban|account|acct|card|email|mail|phone|tel|mobile|fax|name|firstname|lastname|surname|forename|fullname|username|user|login|address|street|house|lat|lon|lng|latitude|longitude|gps|ip|mac|imei|imsi|url|mrn|patient|respondent|person|customer|client|employee|student|serial|token|hash`},
	{microdata.Other, "a sampling weight", `weight|weights|wgt|wt|pweight|fweight`},
	{microdata.Key, "something that is known of people from elsewhere", `age|sex|gender|birth|dob|born|yob|birthday|race|ethnicity|ethnic|nationality|citizenship|country|region|state|province|county|district|municipality|city|town|village|zip|zipcode|postcode|postal|nuts|urban|rural|urbrur|parish|education|educ|edu|degree|school|schooling|occupation|occup|occ|job|profession|industry|sector|nace|naics|isic|branch|marital|married|household|hh|hhsize|size|children|kids|language|religion|disability|veteran|employment|employed|experience|exper|tenure|year|month|date|day|week|admission|discharge`},
	{microdata.Sensitive, "what a snooper may be after", `income|wage|wages|salary|pay|earnings|earning|revenue|turnover|sales|profit|loss|cost|costs|price|expenditure|expend|expenses|expense|spending|amount|balance|debt|loan|savings|assets|asset|wealth|capital|value|tax|taxes|rent|mortgage|benefit|benefits|pension|premium|claim|dose|diagnosis|icd|bmi|height|blood|pressure|glucose|cholesterol|score|grade|iq|hours|production|output|consumption|emission|emissions`},
}

var (
	byRole  = compiled()
	camel   = regexp.MustCompile(`([a-z])([A-Z])`)
	between = regexp.MustCompile(`[^\pL]+`)
)

func compiled() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, n := range rolesByName {
		out = append(out, regexp.MustCompile(`^(`+n.words+`)$`))
	}
	return out
}

// words divides a column's name into words.
func words(name string) []string {
	return strings.Fields(between.ReplaceAllString(strings.ToLower(camel.ReplaceAllString(name, "$1 $2")), " "))
}

const (
	someRecords = 50   // with fewer records, shares are not used
	nearlyAll   = 0.95 // share of different values from which on a column identifies records
	fewValues   = 100  // greatest number of different values of a classification
)

// GuessRole guesses the role of a column by its name if this fits its values, otherwise by its
// type and its number of different values. In doubt it chooses the role that withholds: a text
// that differs from record to record becomes an identifier.
func (l *Look) GuessRole(c *Column) Guess {
	if c.Field.Nested() {
		return Guess{microdata.Other, fmt.Sprintf("nested (%s): can be released or dropped, not masked", c.Field.Type), true}
	}
	if c.Values == 0 {
		return Guess{microdata.Other, "no record has a value", true}
	}
	description := c.describe()
	if d := c.Field.Described; d != nil && d.Weight {
		return Guess{microdata.Other, "the file says that its records are weighted by it; " + description, true}
	}
	telling := c.Values >= someRecords && (c.Capped || c.share() >= nearlyAll)
	for i, n := range rolesByName {
		word := match(byRole[i], c.Field.Name)
		if word == "" {
			continue
		}
		why := fmt.Sprintf("its name says %s (%q); %s", n.what, word, description)
		switch {
		case n.role == microdata.Identifier && !telling && c.Distinct <= fewValues && c.Values > 10*c.Distinct:
			continue // the word is part of another name: state_id, house
		case n.role == microdata.Key && telling && !c.Field.Numeric() && !temporal(c.Field.Type):
			return Guess{microdata.Identifier, why + ", so that it tells records apart", true}
		case n.role == microdata.Sensitive && !c.Field.Numeric():
			return Guess{n.role, why + "; masks of numbers do not apply", true}
		}
		return Guess{n.role, why, false}
	}
	few := c.Distinct <= fewValues && c.Values >= 10*c.Distinct
	switch {
	case temporal(c.Field.Type):
		return Guess{microdata.Key, "a date or time: " + description, false}
	case c.Field.Numeric() && few && c.Decimals == 0:
		return Guess{microdata.Key, "few different values, such as a code: " + description, true}
	case c.Field.Numeric() && telling && c.Decimals == 0 && !c.Negative && c.numbering():
		return Guess{microdata.Identifier, "it tells records apart as a running number or a code does: " + description, true}
	case c.Field.Numeric():
		return Guess{microdata.Sensitive, "a quantity: " + description, true}
	case few:
		return Guess{microdata.Key, "a classification: " + description, false}
	}
	return Guess{microdata.Identifier, "text that differs between records: " + description, true}
}

func match(words *regexp.Regexp, name string) string {
	for _, w := range cut(name) {
		if words.MatchString(w) {
			return w
		}
	}
	return ""
}

// cut returns the words of a name, and all words joined if there are several.
func cut(name string) []string {
	list := words(name)
	if len(list) > 1 {
		list = append(list, strings.Join(list, ""))
	}
	return list
}

func temporal(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.DATE32, arrow.DATE64, arrow.TIMESTAMP, arrow.TIME32, arrow.TIME64:
		return true
	}
	return false
}

// describe describes a column without any of its values.
func (c *Column) describe() string {
	kind := "text"
	switch {
	case c.Field.Numeric() && c.Decimals < 0:
		kind = "numbers of full precision"
	case c.Field.Numeric() && c.Decimals == 0:
		kind = "whole numbers"
	case c.Field.Numeric() && c.Decimals == 1:
		kind = "numbers with 1 decimal"
	case c.Field.Numeric():
		kind = fmt.Sprintf("numbers with %d decimals", c.Decimals)
	case c.Field.Type.ID() == arrow.BOOL:
		kind = "true or false"
	case temporal(c.Field.Type):
		kind = "times"
	}
	distinct := fmt.Sprintf("%d different in %d records", c.Distinct, c.Values)
	if c.Capped {
		distinct = fmt.Sprintf("more than %d different in %d records", counted, c.Values)
	}
	return kind + ", " + distinct
}
