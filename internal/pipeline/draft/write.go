package draft

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Listed is a column as the configuration lists it.
type Listed struct {
	*Column
	Guess
}

// List gives the columns of a look with their guessed roles.
func (l *Look) List() []Listed {
	var listed []Listed
	for i := range l.Columns {
		listed = append(listed, Listed{&l.Columns[i], l.GuessRole(&l.Columns[i])})
	}
	return listed
}

// Draft is what a configuration is written from.
type Draft struct {
	Name         string // of the pipeline
	Source, Sink string // as YAML in flow style: {csv: {path: a.csv}}
	Guessed      bool   // options of the source were guessed from its content
	Looked       string // how much of the source was read
	Listed       []Listed
	Stream       bool // the source is a topic, whose records are masked as they come
	Rare         int  // members of messages that are not listed because few messages have them
}

// roles is the comment in the configuration that explains the roles.
const roles = `#   identifier  never leaves, but must exist
#   key         what a snooper may know of a respondent from elsewhere
#   sensitive   what a snooper is after
#   other       leaves, neither of these`

// Write returns the configuration. It is valid as it is, but the gate withholds a run with it if a column is sensitive:
// its rules on sensitive columns hold only if these are masked.
func (d *Draft) Write() string {
	p := new(page)
	p.line("# A first configuration, made by looking at the data:")
	p.note("", "%s.", d.Looked)
	p.note("", "The roles are guesses: read them, then choose masks and what the gate demands.")
	p.line("#")
	p.line("#   sdlfilter keygen --out release.key   once; whoever has it can undo the masks")
	p.line("#   sdlfilter validate --connect FILE    says what is wrong, all at once")
	p.line("#   sdlfilter preview FILE               the first rows as they would leave")
	if d.Stream {
		p.line("#   sdlfilter map FILE                   which mask, and how much of it")
	} else {
		p.line("#   sdlfilter map FILE --apply           finds masks, and writes them into FILE")
	}
	p.line("#   sdlfilter run FILE                   releases, or says why not")
	p.line("version: 1")
	p.line("name: %s", scalar(d.Name))
	p.line("key: {file: release.key}")
	id, waves := d.identity(), d.ofWaves()
	if id == "" {
		id = waves
	}
	if id != "" {
		p.note("", "With it, the same value of the same respondent is masked alike in every release:")
		p.line("# identity: [%s]", id)
	}
	if h := d.using(householdID); h != "" {
		p.note("", "The risk by the whole record then takes the members of a household together:")
		p.line("# household: %s", h)
	}
	if w := d.using(weights); w != "" { // a value in each record
		p.note("",
			"How many persons of the population a record stands for. No noise is put on it: an exact weight tells records apart, so round it, or calibrate it behind the masks.")
		p.line("weight: %s", w)
	}
	if d.Guessed {
		p.note("", "How its text is to be read was guessed from its content: compare `sdlfilter preview` with the file.")
	}
	p.line("source: %s", d.Source)
	p.line("")
	p.line("# The columns that may leave, and what they are; nothing else leaves.")
	p.line("%s", roles)
	p.line("columns:")
	d.columns(p)
	if d.Rare > 0 {
		p.note("  ", "fewer than one in twenty messages have one of %d further members: list those that are columns", d.Rare)
	}
	p.line("unlisted: fail")
	p.line("")
	d.masks(p)
	p.line("")
	if !d.Stream {
		d.maps(p)
	}
	p.line("sink: %s", d.Sink)
	p.line("")
	d.gate(p)
	p.line("report:")
	p.line("  json: %s", scalar(d.Name+".report.json"))
	p.line("  html: %s", scalar(d.Name+".report.html"))
	return p.String()
}

// page is the text of a configuration, in lines of at most 80 characters where its names let it.
type page struct{ strings.Builder }

const pageWidth = 80

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// note writes a comment.
func (p *page) note(indent, format string, args ...any) {
	p.fold(indent+"#", indent+"# ", strings.Fields(fmt.Sprintf(format, args...)))
}

// list writes a list of names as YAML in flow style, and what is before and behind it; after has no spaces in what must
// not be torn. Further lines begin with hang.
func (p *page) list(before, hang string, names []string, after string) {
	parts := slices.Clone(names)
	for i := range len(parts) - 1 {
		parts[i] += ","
	}
	parts[0] = "[" + parts[0]
	parts[len(parts)-1] += "]" + after
	p.fold(before, hang, parts)
}

// fold writes parts with a space between them, into a new line where the width ends.
func (p *page) fold(first, hang string, parts []string) {
	text, filled := first, false
	if i := strings.LastIndex(first, "\n"); i >= 0 {
		p.line("%s", first[:i])
		text = first[i+1:]
	}
	for _, part := range parts {
		if filled && utf8.RuneCountInString(text)+1+utf8.RuneCountInString(part) > pageWidth {
			p.line("%s", text)
			text = strings.TrimRight(hang, " ") + strings.Repeat(" ", len(hang)-len(strings.TrimRight(hang, " "))-1)
		}
		text, filled = text+" "+part, true
	}
	p.line("%s", text)
}

func (d *Draft) columns(p *page) {
	wide := 0
	for _, c := range d.Listed {
		wide = max(wide, len(scalar(c.Field.Name)))
	}
	for _, c := range d.Listed {
		unsure := ""
		if c.Unsure {
			unsure = "PLEASE CHECK: "
		}
		p.note("  ", "%s%s%s", unsure, oneLine.Replace(c.Why), missing(c.Column, d.records()))
		codes := ""
		if declared := c.declared(); declared != "" {
			codes = ", missing: " + declared
			p.note("  ",
				"PLEASE CHECK: %d records have what looks like a code for a missing value; leave out of `missing` what is a value",
				c.Coded)
		}
		p.line("  %-*s {role: %s%s%s}", wide+1, scalar(c.Field.Name)+":", c.Role, codes, c.options(d.Stream))
	}
}

// oneLine keeps the name of a nested type's member from ending a comment.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ", "\u0085", " ", "\u2028", " ", "\u2029", " ")

// options returns what a column needs in addition to its role for the configuration to be valid
// before a mask is chosen.
func (c Listed) options(stream bool) string {
	decimals := ""
	if stream && c.Field.Numeric() && c.Decimals >= 0 {
		decimals = fmt.Sprintf(", decimals: %d", c.Decimals) // a stream cannot find them in a first pass
	}
	if c.Role == microdata.Sensitive {
		return decimals + ", unmasked: true"
	}
	return decimals
}

func missing(c *Column, records int) string {
	if n := records - c.Values - c.left; n > 0 && c.Values > 0 {
		return fmt.Sprintf("; %.3g %% without a value", 100*float64(n)/float64(records))
	}
	return ""
}

// records returns the greatest number of values of any column.
func (d *Draft) records() int {
	n := 0
	for _, c := range d.Listed {
		n = max(n, c.Values+c.left)
	}
	return n
}

// identity returns the first identifier that has a value in every record and differs between
// nearly all of them; "" if there is none.
func (d *Draft) identity() string {
	for _, c := range d.Listed {
		if c.Role == microdata.Identifier && !c.Unsure && c.Values == d.records() && (c.Capped || c.share() >= nearlyAll) {
			return scalar(c.Field.Name)
		}
	}
	return ""
}

// ofPersons are words of the names of columns that number persons.
var ofPersons = regexp.MustCompile(
	`^(id|ids|pid|uid|person|persons|respondent|patient|student|employee|customer|client|member|subject|nin|ssn|mrn|bsn|cpr)$`)

// ofWaves returns the first identifier of persons that several records have, as the waves of a panel; "" if there is
// none.
func (d *Draft) ofWaves() string {
	for _, c := range d.Listed {
		if c.Role == microdata.Identifier && c.Use == noUse && !c.Capped && match(ofPersons, c.Field.Name) != "" &&
			5*c.Values >= 6*c.Distinct && c.Distinct >= someRecords/10 {
			return scalar(c.Field.Name)
		}
	}
	return ""
}

// using returns the first column of a use; "" if there is none.
func (d *Draft) using(what use) string {
	for _, c := range d.Listed {
		if c.Use == what && (what != weights || c.Role != microdata.Sensitive && c.Values == d.records()) {
			return scalar(c.Field.Name)
		}
	}
	return ""
}

// of returns the columns of a role; with numeric, only numeric ones.
func (d *Draft) of(role microdata.Role, numeric bool) []Listed {
	var list []Listed
	for _, c := range d.Listed {
		if c.Role == role && (!numeric || c.Field.Numeric()) {
			list = append(list, c)
		}
	}
	return list
}

func names(list []Listed) []string {
	var out []string
	for _, c := range list {
		out = append(out, scalar(c.Field.Name))
	}
	return out
}

func (d *Draft) masks(p *page) {
	sensitive := d.of(microdata.Sensitive, true)
	p.note("",
		"Masks, in the order in which they apply. Take the # away from what is to be used, and `unmasked: true` from its columns; `sdlfilter map` finds amounts that fit the gate.")
	p.line("# masks:")
	if len(sensitive) == 0 {
		p.line("#   # sd: %% of the column's standard deviation, or a number in its unit")
		p.line("#   - noise: {columns: [COLUMN], sd: 20%%}")
		return
	}
	const hang = "#       "
	all := names(sensitive)
	p.line("#   # each value times 1 ± about 5 %%")
	p.list("#   - bias:     {columns:", hang, all, ", range: 0.05}")
	if d.Stream {
		p.line("#   # sd in the column's unit; %% of its standard deviation needs a profile")
		p.list("#   - noise:    {columns:", hang, all, ", sd: AMOUNT}")
	} else {
		p.line("#   # sd: %% of the column's standard deviation, or a number in its unit")
		p.list("#   - noise:    {columns:", hang, all, ", sd: 20%}")
	}
	if positive := names(notNegative(sensitive)); len(positive) > 0 {
		p.line("#   # no value below 0 was seen")
		p.list("#   - truncate: {columns:", hang, positive, ", lower: 0}")
	}
	if keys := names(d.of(microdata.Key, false)); len(keys) >= 2 {
		p.list(fmt.Sprintf("#   - swap:     {keys: [%s],\n#       attribute: %s, rate: 0.1, columns:",
			strings.Join(keys[1:min(3, len(keys))], ", "), keys[0]), hang, all, "}")
	}
}

func notNegative(list []Listed) []Listed {
	return slices.DeleteFunc(slices.Clone(list), func(c Listed) bool { return c.Negative })
}

// The strategies of the proposed map. A percentage of a standard deviation of zero is no amount, so that constant
// columns are not among its columns, and groups of more records than there are cannot be.
const (
	leastGroup, greatestGroup = 5, 45
	groupSteps                = 5
	fewCodes                  = 10
)

// maps writes a map of two parameters for each of its strategies: noise with what a value is multiplied by, and noise
// with the size of the groups whose numeric keys take their means, without which what a snooper links by stays as it
// is.
func (d *Draft) maps(p *page) {
	varying := func(role microdata.Role) []Listed {
		return slices.DeleteFunc(d.of(role, true), func(c Listed) bool { return c.Distinct < 2 || c.Use != noUse })
	}
	sensitive, keys := varying(microdata.Sensitive), varying(microdata.Key)
	keys = slices.DeleteFunc(keys, func(c Listed) bool { return c.Distinct <= fewCodes }) // a mean of codes says nothing
	keys = keys[:min(len(keys), mostKeys)]
	grouped := len(keys) > 0 && d.records() >= 4*leastGroup
	noisy := sensitive
	if len(noisy) == 0 {
		noisy = keys
	}
	if len(noisy) == 0 || len(sensitive) == 0 && !grouped {
		p.note("",
			"`sdlfilter map` compares amounts of masks once there are some: no column that is sensitive, or a key of more than ten values, is numeric.")
		p.line("")
		return
	}
	p.note("",
		"What `sdlfilter map` compares: two parameters of each strategy, at all of their combinations. With --apply it writes the masks of the best point where the gate's rules hold.")
	p.line("map:")
	p.line("  column: %s", scalar(noisy[0].Field.Name))
	p.line("  strategies:")
	if len(sensitive) > 0 {
		d.strategy(p, "noise", noisy, func() {
			p.list("        - bias: {columns:", "            ", names(noisy), ", range: 0.05}")
		}, "bias.range: {from: 0.02, to: 0.14, steps: 3}")
	}
	if grouped {
		p.note("    ",
			"Keys of more than ten different values. A mean of codes says nothing: recode or suppress codes, and take them out here.")
		d.strategy(p, "noise and groups", noisy, func() {
			p.list("        - microaggregate: {columns:", "            ", names(keys), fmt.Sprintf(", k: %d}", leastGroup))
		}, fmt.Sprintf("microaggregate.k: {from: %d, to: %d, steps: %d}", leastGroup, min(greatestGroup, d.records()/2),
			groupSteps))
	}
	p.line("")
}

// strategy writes one strategy of a map: noise, another mask, and bounds of what has no value below 0.
func (d *Draft) strategy(p *page, name string, noisy []Listed, other func(), vary string) {
	p.line("    - name: %s", name)
	p.line("      masks:")
	p.list("        - noise: {columns:", "            ", names(noisy), ", sd: 20%}")
	other()
	if positive := names(notNegative(noisy)); len(positive) > 0 && noisy[0].Role == microdata.Sensitive {
		p.list("        - truncate: {columns:", "            ", positive, ", lower: 0}")
	}
	p.line("      vary:")
	p.line("        masks.0.noise.sd: {from: 10%%, to: 40%%, steps: 4}")
	p.line("        masks.1.%s", vary)
}

// mostKeys is the greatest number of keys that a snooper links by.
const mostKeys = 64

// linked returns the keys that a snooper is taken to know: all, or first those of which this is sure.
func (d *Draft) linked() (keys []Listed, left int) {
	all := d.of(microdata.Key, false)
	keys = slices.DeleteFunc(slices.Clone(all), func(c Listed) bool { return c.Field.Nested() })
	if len(keys) <= mostKeys {
		return keys, 0
	}
	slices.SortStableFunc(keys, func(a, b Listed) int {
		switch {
		case a.Unsure == b.Unsure:
			return 0
		case b.Unsure:
			return -1
		}
		return 1
	})
	return keys[:mostKeys], len(keys) - mostKeys
}

// unchanged is the share of values that may leave as they are: 5 %, or more where a column's steps are wide or many of
// its values are 0, so that noise of a fifth of its standard deviation leaves that many.
func (c *Column) unchanged() float64 {
	for _, share := range []float64{0.05, 0.1, 0.2, 0.3} {
		if 1.5*c.stays() <= share {
			return share
		}
	}
	return 0.5
}

func (d *Draft) gate(p *page) {
	sensitive := d.of(microdata.Sensitive, true)
	keys, left := d.linked()
	if len(sensitive)+len(keys) == 0 {
		p.line("# What must hold for the release to leave.")
		p.line("# gate:")
		p.line("#   rules:")
		p.line("#     # nobody's value is known to better than 100 by linking")
		p.line("#     - {column: COLUMN, knowledge: index, min_rmse: 100}")
		return
	}
	if len(sensitive) > 0 {
		p.note("", "What must hold for the release to leave. As long as no sensitive column is masked, this does not.")
	} else {
		p.note("",
			"What must hold for the release to leave. No column is sensitive and numeric, so that it may leave without masks: read the roles.")
	}
	if len(keys) > 0 {
		p.note("", "What a snooper links by:")
		if left > 0 {
			p.note("", "PLEASE CHECK: it takes %d keys, and %d more have that role; those that are known best come first.",
				mostKeys, left)
		}
		p.list("assess: {keys:", "    ", names(keys), "}")
		if waves := d.ofWaves(); waves != "" {
			p.note("",
				"PLEASE CHECK: several records have one %s, as the waves of a person have. Whoever knows several waves of a person finds him by all of them: put this into assess, and k is that of all records of a person together (give the wave the role key).", waves)
			linkage := ""
			if len(d.of(microdata.Key, true)) > 0 {
				linkage = "linkage: {}, "
			}
			p.line("# intruder: {%suniqueness: {person: [%s]}}", linkage, waves)
		}
	}
	p.line("gate:")
	p.line("  rules:")
	if len(sensitive) > 0 {
		p.note("    ",
			"max_unchanged: at most that share of the values leaves as it is, 5 %% or what rounding leaves in columns of wide steps and many zeros. min_efficiency: the mean stays as precise as that of 80 %% of the records")
		p.note("    ",
			"min_rmse, in the column's unit: known to no better than ± 100 by linking. Without it, a map recommends the least masking that the other rules allow")
		p.line("    # - {column: %s, knowledge: index, min_rmse: 100}", scalar(sensitive[0].Field.Name))
	}
	for _, c := range sensitive {
		name := scalar(c.Field.Name)
		p.line("    - {column: %s, max_unchanged: %v}", name, c.unchanged())
		p.line("    - {column: %s, min_efficiency: 0.8}", name)
	}
	if d.Stream {
		p.line("    # whether a respondent is found again is in the final report alone:")
		p.line("    # a stream releases before")
		if len(sensitive) == 0 {
			p.line("    []")
		}
		return
	}
	if len(d.of(microdata.Key, true)) > 0 {
		p.line("    # at most 5 %% of the records are found again by their numeric keys")
		p.line("    - {max_linked: 0.05}")
	}
	p.line("    # every combination of the keys is shared by 3 records")
	if len(sensitive) > 0 {
		p.line("    # - {min_k: 3}")
	} else {
		p.line("    - {min_k: 3}")
	}
}

// scalar writes a name as YAML on one line, in quotes if necessary.
func scalar(name string) string {
	text, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name})
	out := strings.TrimRight(string(text), "\n")
	if err != nil || strings.ContainsAny(out, "\n\r,[]{}#:") {
		return fmt.Sprintf("%q", name)
	}
	return out
}
