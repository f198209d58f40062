package quarantined

// FileEntry is one line of the quarantine of a source of files.
type FileEntry struct {
	Stream string `json:"stream"`
	Record int64  `json:"record"` // from 1
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
}
