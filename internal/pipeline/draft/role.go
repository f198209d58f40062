package draft

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Guess is the guessed role of a column, with the reason.
type Guess struct {
	Role   microdata.Role
	Why    string
	Unsure bool // the data fit another role as well
	Use    use  // what the configuration says of the column beside its role
}

// use is what a column is for in a survey, beside its role.
type use uint8

const (
	noUse       use = iota
	weights         // sampling weights, on which no noise is put
	householdID     // tells households apart
)

// surveyNames are names of variables in surveys of the European Union (EU-SILC, EU-LFS), which are no words.
var surveyNames = []struct {
	use   use
	names *regexp.Regexp
}{
	{
		weights,
		regexp.MustCompile(`^(db0[89]0|rb05[0-9]|rb06[0-9]|pb0[4-7]0|rl070|coeff[yq]?|hhwt|perwt|wtfinl|marsupwt|asecwt)$`)},
	{householdID, regexp.MustCompile(`^(db030|hb030|rx030|px030|hhnr|hhno|hhnum|hhserial|serialno)$`)},
}

// rolesByName lists words of column names, in the order in which they are tried. A name is
// divided into words at underscores, points, spaces, digits and changes of case.
var rolesByName = []struct {
	role  microdata.Role
	what  string
	words string
}{
	{microdata.Identifier, "a person's or firm's identifier",
		`id|ids|hid|hhid|uid|uuid|guid|pid|key|ssn|sin|nin|nif|nir|bsn|cpr|cpf|ein|vat|tin|passport|licence|license|plate|iban|account|acct|card|email|mail|phone|tel|mobile|fax|name|firstname|lastname|surname|forename|fullname|username|user|login|address|street|house|lat|lon|lng|latitude|longitude|gps|ip|mac|imei|imsi|url|mrn|patient|respondent|person|customer|client|employee|student|serial|token|hash`},
	{microdata.Other, "a sampling weight",
		`weight|weights|wgt|wgts|wt|wts|weighting|pweight|fweight|pweights|fweights|dweight|hweight|sampweight|sweight|finalwt|finalweight|gewicht|poids|ponderacion|fexp`},
	{microdata.Key, "something that is known of people from elsewhere",
		`age|sex|gender|birth|dob|born|yob|birthday|race|ethnicity|ethnic|nationality|citizenship|country|region|state|province|county|district|municipality|city|town|village|zip|zipcode|postcode|postcodes|postal|fips|msa|smsa|tract|precinct|canton|department|prefecture|plz|codepostal|postnr|postleitzahl|nuts|urban|rural|urbrur|parish|education|educ|edu|degree|school|schooling|occupation|occup|occ|job|profession|industry|sector|nace|naics|isic|branch|marital|married|household|hh|hhsize|size|children|kids|language|religion|disability|veteran|employment|employed|experience|exper|tenure|year|month|date|day|week|admission|discharge`},
	{microdata.Sensitive, "what a snooper may be after",
		`income|wage|wages|salary|pay|earnings|earning|revenue|turnover|sales|profit|loss|cost|costs|price|expenditure|expend|expenses|expense|spending|amount|balance|debt|loan|savings|assets|asset|wealth|capital|value|tax|taxes|rent|mortgage|benefit|benefits|pension|premium|claim|dose|diagnosis|icd|bmi|height|blood|pressure|glucose|cholesterol|score|grade|iq|hours|production|output|consumption|emission|emissions`},
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
		return Guess{Role: microdata.Other,
			Why: fmt.Sprintf("nested (%s): can be released or dropped, not masked", c.Field.Type), Unsure: true}
	}
	if c.Values == 0 {
		return Guess{Role: microdata.Other, Why: "no record has a value", Unsure: true}
	}
	description := c.describe()
	if d := c.Field.Described; d != nil && d.Weight {
		return Guess{Role: microdata.Other, Why: "the file says that its records are weighted by it; " + description,
			Unsure: true, Use: weights}
	}
	if g, ok := l.ofSurvey(c, description); ok {
		return g
	}
	telling := c.Values >= someRecords && (c.Capped || c.share() >= nearlyAll)
	if g, ok := c.ofWords("name", c.Field.Name, telling, description); ok {
		return g
	}
	if label := c.label(); len(words(label)) <= fewWords { // of a question, words are no names
		if g, ok := c.ofWords("label", label, telling, description); ok {
			g.Unsure = true
			return g
		}
	}
	few := c.Distinct <= fewValues && c.Values >= 10*c.Distinct
	switch {
	case !few && c.namesIDs() && (!c.Field.Numeric() || c.Decimals == 0 && !c.Negative):
		return Guess{Role: microdata.Identifier, Why: "its name ends as that of an identifier; " + description, Unsure: true}
	case !few && c.labelled():
		return Guess{Role: microdata.Key, Why: "most of its values have labels, as those of a classification: " + description,
			Unsure: true}
	case temporal(c.Field.Type):
		return Guess{Role: microdata.Key, Why: "a date or time: " + description}
	case c.Field.Numeric() && few && c.Decimals == 0:
		return Guess{Role: microdata.Key, Why: "few different values, such as a code: " + description, Unsure: true}
	case c.Field.Numeric() && telling && c.Decimals == 0 && !c.Negative && c.numbering():
		return Guess{Role: microdata.Identifier, Why: "it tells records apart as a running number or a code does: " +
			description, Unsure: true}
	case c.inGroups():
		return Guess{Role: microdata.Identifier,
			Why: "equal in a few records that follow one another, as the number of a household is: " + description, Unsure: true,
			Use: householdID}
	case c.Field.Numeric() && c.Decimals == 0 && !c.Negative && c.Values >= someRecords && c.shortest == c.width &&
		c.width >= 4:
		return Guess{Role: microdata.Key, Why: "whole numbers of one length, as postcodes and other codes are: " +
			description, Unsure: true}
	case c.normalised():
		return Guess{Role: microdata.Other,
			Why: "positive numbers of mean 1, as sampling weights are that are scaled to the number of records: " +
				description,
			Unsure: true, Use: weights}
	case c.Field.Numeric():
		return Guess{Role: microdata.Sensitive, Why: "a quantity: " + description, Unsure: true}
	case few:
		return Guess{Role: microdata.Key, Why: "a classification: " + description}
	}
	return Guess{Role: microdata.Identifier, Why: "text that differs between records: " + description, Unsure: true}
}

// ofWords guesses the role by the words of a column's name or label.
func (c *Column) ofWords(whose, text string, telling bool, description string) (Guess, bool) {
	for i, n := range rolesByName {
		word := match(byRole[i], text)
		if word == "" {
			continue
		}
		why := fmt.Sprintf("its %s says %s (%q); %s", whose, n.what, word, description)
		switch {
		case n.role == microdata.Identifier && !telling && c.Distinct <= fewValues && c.Values > 10*c.Distinct:
			continue // the word is part of another name: state_id, house
		case n.role == microdata.Key && telling && !c.Field.Numeric() && !temporal(c.Field.Type):
			return Guess{Role: microdata.Identifier, Why: why + ", so that it tells records apart", Unsure: true}, true
		case n.role == microdata.Sensitive && !c.Field.Numeric():
			return Guess{Role: n.role, Why: why + "; masks of numbers do not apply", Unsure: true}, true
		}
		return Guess{Role: n.role, Why: why}, true
	}
	return Guess{}, false
}

// label is what the file calls the column beside its name.
func (c *Column) label() string {
	if c.Field.Described == nil {
		return ""
	}
	return c.Field.Described.Label
}

// labelled reports whether the file has labels for at least half of a column's values.
func (c *Column) labelled() bool {
	return c.Field.Described != nil && !c.Capped && len(c.Field.Described.Values) > 0 &&
		2*len(c.Field.Described.Values) >= c.Distinct
}

// fewWords is the greatest number of words of a label that names what a column holds.
const fewWords = 4

// noIDs are words that end as identifiers do.
var noIDs = regexp.MustCompile(
	`(paid|said|laid|aid|grid|acid|bid|covid|fluid|solid|valid|void|rapid|hybrid|roid|lipid|humid|medicaid|plasmid)$`)

// namesIDs reports whether a word of the name is written together with "id": caseid, RESPID.
func (c *Column) namesIDs() bool {
	return slices.ContainsFunc(words(c.Field.Name), func(w string) bool {
		return len(w) > 4 && strings.HasSuffix(w, "id") && !noIDs.MatchString(w)
	})
}

// ofSurvey guesses the columns that a survey has beside its questions, which no mask of numbers may change: weights and
// the numbers of households. A weight beside a height is that of a body.
func (l *Look) ofSurvey(c *Column, description string) (Guess, bool) {
	name := strings.ToLower(c.Field.Name)
	for _, s := range surveyNames {
		if !s.names.MatchString(name) {
			continue
		}
		if s.use == weights && c.Field.Numeric() && !c.Negative {
			return Guess{Role: microdata.Other, Why: fmt.Sprintf("its name says a sampling weight (%q); %s", name, description),
				Use: weights}, true
		}
		if s.use == householdID {
			return Guess{Role: microdata.Identifier,
				Why: fmt.Sprintf("its name says the number of a household (%q); %s", name, description), Use: householdID}, true
		}
	}
	word := match(byRole[weightWords], c.Field.Name)
	if list := words(c.Field.Name); word == "" || match(byRole[identifierWords], c.Field.Name) != "" &&
		word != list[len(list)-1] {
		return Guess{}, false // weight_id
	}
	why := fmt.Sprintf("its name says a sampling weight (%q); %s", word, description)
	switch {
	case !c.Field.Numeric(), c.Negative:
		return Guess{}, false
	case l.hasBody():
		return Guess{Role: microdata.Sensitive,
			Why:    fmt.Sprintf("its name says a weight (%q), beside a height that of a body; %s", word, description),
			Unsure: true}, true
	}
	// Weights of bodies have few decimals and lie between those of a child and of a heavy person.
	body := len(words(c.Field.Name)) == 1 && c.Decimals >= 0 && c.Decimals <= 1 && c.least >= 1 && c.most <= 400
	return Guess{Role: microdata.Other, Why: why, Unsure: body, Use: weights}, true
}

// The places of these words in rolesByName.
const identifierWords, weightWords = 0, 1

var body = regexp.MustCompile(`^(height|bmi|stature|waist|body)$`)

// hasBody reports whether a column is about a body.
func (l *Look) hasBody() bool {
	for i := range l.Columns {
		if match(body, l.Columns[i].Field.Name) != "" || match(body, l.Columns[i].label()) != "" {
			return true
		}
	}
	return false
}

// inGroups reports whether whole numbers or texts look like numbers of households: each value is in a few records that
// follow one another, and nowhere else.
func (c *Column) inGroups() bool {
	return c.Values >= someRecords && !c.Capped && c.Runs == c.Distinct && c.Distinct > fewValues && !c.Negative &&
		(!c.Field.Numeric() || c.Decimals == 0) &&
		5*c.Values >= 6*c.Distinct && c.Values <= 20*c.Distinct
}

// normalised reports whether numbers look like weights that are scaled to a mean of 1.
func (c *Column) normalised() bool {
	if !c.Field.Numeric() || c.Negative || c.Decimals == 0 || c.Values < someRecords || !(c.least > 0) ||
		c.least == c.most {
		return false
	}
	return math.Abs(c.sum/float64(c.Values)-1) < 1e-4
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
