package rolling

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// Partition is a partition of a topic.
type Partition struct {
	Topic  string
	Number int32
}

// Manifest are the files of one transaction: complete and durable, and without
// their names until it is committed.
type Manifest []Entry

// Entry is one file.
type Entry struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Temp      string `json:"temp"`  // name in the topic's folder of files without a name
	Final     string `json:"final"` // path in the topic's folder
	First     int64  `json:"first"` // places that the file covers
	Last      int64  `json:"last"`
	Records   int64  `json:"records"`
	Bytes     int64  `json:"bytes"`
}

// ByPartition splits a manifest by the partitions of its files.
func (m Manifest) ByPartition() map[Partition]Manifest {
	parts := make(map[Partition]Manifest)
	for _, e := range m {
		p := Partition{e.Topic, e.Partition}
		parts[p] = append(parts[p], e)
	}
	return parts
}

var (
	topicName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	tempName  = regexp.MustCompile(`^\.part-([0-9]{5,10})-[0-9]{19}-[0-9a-f]{16}\.parquet\.sdlfilter-tmp$`)
	finalName = regexp.MustCompile(`^date=[0-9]{4}-[0-9]{2}-[0-9]{2}/part-([0-9]{5,10})-[0-9]{19}-[0-9]{19}\.parquet$`)
	// markTemp is a mark that was being written when its writer died.
	markTemp = regexp.MustCompile(`^\.published-([0-9]{5,10})-[0-9a-f]{16}\.json\.sdlfilter-tmp$`)
)

func validTopic(name string) bool {
	return len(name) <= 249 && topicName.MatchString(name) && name != "." && name != ".."
}

// check refuses a manifest that this package did not make: its names decide which
// files are renamed.
func (m Manifest) check() error {
	for i, e := range m {
		temp, final := tempName.FindStringSubmatch(e.Temp), finalName.FindStringSubmatch(e.Final)
		if !validTopic(e.Topic) || temp == nil || final == nil || !is(temp[1], e.Partition) || !is(final[1], e.Partition) {
			return fmt.Errorf("entry %d of a manifest of files names none that this program makes", i)
		}
	}
	return nil
}

// is reports whether digits of a name are the partition's number.
func is(digits string, partition int32) bool {
	n, err := strconv.ParseInt(digits, 10, 32)
	return err == nil && int32(n) == partition
}

func (m Manifest) has(final string) bool {
	return slices.ContainsFunc(m, func(e Entry) bool { return e.Final == final })
}
