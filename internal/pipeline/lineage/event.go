package lineage

// Event is a RunEvent.
type Event struct {
	Time      string    `json:"eventTime"` // RFC 3339, UTC
	Type      string    `json:"eventType"`
	Producer  string    `json:"producer"`
	SchemaURL string    `json:"schemaURL"`
	Run       execution `json:"run"`
	Job       job       `json:"job"`
	Inputs    []dataset `json:"inputs"`
	Outputs   []dataset `json:"outputs"`
}

// The types of events that a run has: one START, and one of the others.
const (
	begun     = "START"
	completed = "COMPLETE"
	failed    = "FAIL"  // also of a release that was withheld
	aborted   = "ABORT" // a signal ended the run
)

// facets are objects by name, each with a facet in it.
type facets map[string]any

type execution struct {
	ID     string `json:"runId"` // a UUID of version 7, a new one for each run
	Facets facets `json:"facets"`
}

type job struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Facets    facets `json:"facets"`
}

type dataset struct {
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	Facets       facets `json:"facets,omitempty"`
	OutputFacets facets `json:"outputFacets,omitempty"`
}

// facet is what all facets begin with.
type facet struct {
	Producer  string `json:"_producer"`
	SchemaURL string `json:"_schemaURL"`
}

type engine struct {
	facet
	Name    string `json:"name"`
	Version string `json:"version"`
}

type jobType struct {
	facet
	Processing  string `json:"processingType"`
	Integration string `json:"integration"`
	Job         string `json:"jobType"`
}

type errorMessage struct {
	facet
	Message  string `json:"message"`
	Language string `json:"programmingLanguage"`
}

// gate is a facet of our own: docs/lineage/GateRunFacet.json.
type gate struct {
	facet
	Verdict  string `json:"verdict"`  // released or withheld
	Demanded bool   `json:"demanded"` // whether there are rules, as in a public report
}

type schema struct {
	facet
	Fields []field `json:"fields"`
}

type field struct {
	Name string `json:"name"`
	Type string `json:"type"` // Arrow's name of it
}

type columnLineage struct {
	facet
	Fields map[string]inputs `json:"fields"`
}

type inputs struct {
	Fields []inputField `json:"inputFields"`
}

type inputField struct {
	Namespace       string           `json:"namespace"`
	Name            string           `json:"name"`
	Field           string           `json:"field"`
	Transformations []transformation `json:"transformations"`
}

type transformation struct {
	Type        string `json:"type"`
	Subtype     string `json:"subtype"`
	Description string `json:"description"`
	Masking     bool   `json:"masking"`
}

type quality struct {
	facet
	Rows    int64                   `json:"rowCount"`
	Columns map[string]columnCounts `json:"columnMetrics"`
}

type columnCounts struct {
	Nulls int64 `json:"nullCount"`
	Count int64 `json:"count"` // values that are not null
}

type statistics struct {
	facet
	Rows  int64  `json:"rowCount"`
	Bytes *int64 `json:"size,omitempty"` // nil where there are no files
}

type datasetVersion struct {
	facet
	Version string `json:"datasetVersion"` // SHA-256 of the release, as in the report
}
