package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/config"
)

// Config is the configuration of a project.
type Config struct {
	Version int     `yaml:"version" required:"true" doc:"version of this format; 1"`
	Name    string  `yaml:"name" doc:"the project's name, for reports and messages; by default the file's name without its extension"`
	Tables  []Table `yaml:"tables" required:"true" doc:"the tables, by name; at least two"`
	Keys    []Key   `yaml:"keys" required:"true" doc:"what joins the tables: one key fewer than there are tables, so that every table is joined to every other in one way"`
	Person  string  `yaml:"person" required:"true" doc:"the table whose records are the persons of whom all tables tell together"`
	Gate    Gate    `yaml:"gate" required:"true" doc:"what must hold of the persons for any table to be published, beside the gates of the tables"`
	Report  Out     `yaml:"report" doc:"the report of the project"`

	Lineage *config.Lineage `yaml:"lineage" doc:"OpenLineage events of the project: that it has begun, and how it has ended. They have the names of the tables' released columns, the kinds of the masks, and counts; no value, and no other column"`

	// Warnings are messages for the user that are not errors.
	Warnings []string `yaml:"-"`
	// Loosened are the settings of the environment and the command line that let more out than the file does.
	Loosened []config.Loosening `yaml:"-"`

	loaded *loader
}

// Table is a table of a project.
type Table struct {
	Name   string `yaml:",name"`
	Config string `yaml:"config" required:"true" doc:"the configuration of the table's pipeline. Its sink is a file of the folder that all tables share, which is published as a whole and belongs to the project, or a table of the database in which those of all tables are"`

	pipeline *config.Pipeline
}

// Key says that a column of a table holds the value that identifies a record of another.
type Key struct {
	Table      string `yaml:"table" required:"true" doc:"the table with the column"`
	Column     string `yaml:"column" required:"true" doc:"the column"`
	Of         string `yaml:"of" required:"true" doc:"the table of which it identifies a record"`
	References string `yaml:"references" doc:"the column that identifies a record there, no two records having the same value; by default the one of the same name"`
	Optional   bool   `yaml:"optional" doc:"true: a record without a value belongs to none, and is released; by default it leaves"`
}

// Gate is what must hold of the persons.
type Gate struct {
	Rules []Rule `yaml:"rules" required:"true" doc:"what must hold; each rule has one limit"`
}

// Rule is one limit for what all tables tell together of a person.
type Rule struct {
	MinK              *int     `yaml:"min_k" choice:"true" doc:"least number of persons whose records in all tables together can be a person's"`
	MaxIndividualRisk *float64 `yaml:"max_individual_risk" share:"whole" choice:"true" doc:"greatest probability, 0 to 1, that a person is re-identified by the records of all tables together"`
	MaxLinked         *float64 `yaml:"max_linked" share:"whole" choice:"true" doc:"greatest share of the persons, 0 to 1, who are expected to be found: the mean of 1 over k"`
	MaxUnique         *float64 `yaml:"max_unique" share:"whole" choice:"true" doc:"greatest share of the persons, 0 to 1, whose records in all tables together can be nobody else's"`
}

// Out names the files of the report.
type Out struct {
	JSON string `yaml:"json" doc:"the report for programs, readable by its owner only; a public report, .public.json, is written beside it"`
	HTML string `yaml:"html" doc:"the report as a page, readable by its owner only; a public page, .public.html, is written beside it"`
}

var kind = config.NewKind[Config]("sdlfilter project",
	"Configuration of several tables that sdlfilter releases together.", nil)

// Schema is the JSON Schema of a project's configuration; config/sdlfilter.project.schema.json is this.
func Schema() ([]byte, error) { return kind.Schema() }

// Is reports whether the text of a configuration is that of a project: it has tables, by name, and no source.
func Is(text []byte) bool {
	var top struct {
		Source, Pipeline yaml.Node
		Tables           yaml.Node
	}
	return yaml.Unmarshal(text, &top) == nil && top.Source.IsZero() && top.Pipeline.IsZero() &&
		top.Tables.Kind == yaml.MappingNode
}

// Parse reads a configuration and those of its tables; file is the name that errors give it. The error is of type
// config.Errors and holds everything that is wrong.
func Parse(file string, text []byte, opts config.Options) (*Config, error) {
	c := &Config{}
	r, err := kind.Read(file, text, c, opts)
	if err != nil {
		return nil, err
	}
	if c.Lineage != nil {
		c.Lineage.Token.Lookup = r.Lookup
	}
	l := &loader{Loader: r}
	c.loaded, c.Warnings, c.Name = l, r.Warnings(), r.Name(c.Name)
	opts.Set = nil
	l.validate(c, opts)
	if err := l.all(); err != nil {
		return nil, err
	}
	c.Loosened = l.Loosened(config.Source{}, config.Sink{}, loosens)
	return c, nil
}

// loosens judges a setting: of a project's nothing but its name and its report's is known to let no more out.
func loosens(c *config.Change) bool {
	switch c.Names[0] {
	case "version", "name", "report":
		return false
	case "gate":
		return !c.Added && !c.Tighter(c.Names[len(c.Names)-1])
	}
	return true
}

// LooseningAllowed returns an error for each setting that loosens, of the project and of its tables, unless that is
// allowed.
func (c *Config) LooseningAllowed(allowed bool) error {
	errs := []error{config.LooseningAllowed(c.Loosened, allowed)}
	for i := range c.Tables {
		errs = append(errs, c.Tables[i].pipeline.LooseningAllowed(allowed))
	}
	return errors.Join(errs...)
}

// Errorf is an error about the field at path, as config.Pipeline's.
func (c *Config) Errorf(path, format string, args ...any) config.Error {
	text := fmt.Sprintf(format, args...)
	return c.loaded.Problem(path, path, text)
}

// SHA256 identifies the configuration as it took effect, with those of the tables, in hex.
func (c *Config) SHA256() string {
	h := sha256.New()
	h.Write(kind.Canonical(c))
	for i := range c.Tables {
		h.Write([]byte(c.Tables[i].pipeline.SHA256()))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// folder is the folder of the release; "" if it is tables of a database.
func (c *Config) folder() string {
	first := c.Tables[0].pipeline.Sink
	if first.Abilities().Placed == nil {
		return ""
	}
	return filepath.Dir(first.Config.Paths()[0])
}

// paths name the release: its folder, or its tables.
func (c *Config) paths() (list []string) {
	if folder := c.folder(); folder != "" {
		return []string{folder}
	}
	for i := range c.Tables {
		list = append(list, c.Tables[i].released())
	}
	return list
}

// released names the release of a table: its file in the folder, or the table of the database.
func (t *Table) released() string {
	path := t.pipeline.Sink.Config.Paths()[0]
	if t.pipeline.Sink.Abilities().Placed == nil {
		return path
	}
	return filepath.Base(path)
}

// named returns a table by its name; nil if there is none.
func (c *Config) named(name string) *Table {
	for i := range c.Tables {
		if c.Tables[i].Name == name {
			return &c.Tables[i]
		}
	}
	return nil
}
