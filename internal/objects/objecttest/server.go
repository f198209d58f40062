// Package objecttest is a server of the S3 protocol for tests, in the process: what the
// program asks for and no more, with conditions as Amazon's have been since 2024; or of the
// protocols of Google Cloud Storage and of Azure. It can be made to fail. The same tests run against servers of other
// people (make test-objects).
package objecttest

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// AccessKey and SecretKey are the credentials that the server takes.
const (
	AccessKey = "AKIDOBJECTTEST"
	SecretKey = "a-secret-that-no-message-may-hold"
)

// Server is a server with one or several buckets.
type Server struct {
	URL string
	// PageSize is how many keys a list has at a time.
	PageSize int

	mu      sync.Mutex
	buckets map[string]map[string]*Object
	uploads map[string]*pending
	serial  int
	// Of Google's protocol.
	google   bool
	sessions map[string]*session
	token    string
	// Of Azure's: blocks that no list has committed, by container/key and name; nil: another protocol.
	blocks map[string]map[string][]byte
	fault  func(*http.Request) *Fault
	log    []string
	stale  map[string]map[string]*Object // what lists show; nil: what is there
	over   chan struct{}                 // closed as the test ends
}

// Object is an object as the server keeps it.
type Object struct {
	Data     []byte
	ETag     string
	Modified time.Time
	Header   http.Header // metadata and encryption
}

type pending struct {
	bucket, key string
	header      http.Header
	parts       map[int][]byte
}

// Fault is what becomes of a request.
type Fault struct {
	Status int    // answer with this one, and Code
	Code   string // "SlowDown"
	Lose   bool   // do what is asked, and cut the connection in place of the answer
	Cut    int    // cut the connection after so many bytes of the answer's body; -1: before anything is done
	Wait   time.Duration
	ETag   string // give this one in place of the right one
	Take   int    // of Google's protocol: keep so many bytes of a part, and answer 503
	Hush   int    // fall silent after so many bytes of the answer's body, and stay connected
	Deaf   int    // take so many bytes of the request's body and no more, and stay connected
}

// New starts a server with a bucket, and has the environment lead to it, without any
// waiting between attempts.
func New(t testing.TB, buckets ...string) *Server {
	t.Helper()
	s := &Server{PageSize: 3, buckets: map[string]map[string]*Object{}, uploads: map[string]*pending{},
		over: make(chan struct{})}
	for _, b := range buckets {
		s.buckets[b] = map[string]*Object{}
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(s.over) })
	s.URL = server.URL
	return s
}

// Failing has fault decide what becomes of each request; nil: nothing fails.
func (s *Server) Failing(fault func(*http.Request) *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Requests are the requests so far, "PUT key partNumber=1".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Uploads is the number of uploads that are neither complete nor given up.
func (s *Server) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.uploads)
	for _, up := range s.sessions {
		if up.done == nil && !up.givenUp {
			n++
		}
	}
	for _, blocks := range s.blocks {
		n += min(len(blocks), 1)
	}
	return n
}

// GiveUp ends every upload that is not complete, as a rule of a bucket's lifecycle does.
func (s *Server) GiveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.uploads)
	clear(s.sessions)
	clear(s.blocks)
}

// Set puts an object, beside the protocol.
func (s *Server) Set(bucket, key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.google {
		s.buckets[bucket][key] = s.objectGS(data, http.Header{})
		return
	}
	if s.blocks != nil {
		s.buckets[bucket][key] = s.objectAz(data, nil)
		return
	}
	s.buckets[bucket][key] = s.object(data, etagOf(data), nil)
}

// Remove removes an object, beside the protocol.
func (s *Server) Remove(bucket, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.buckets[bucket], key)
}

// Age lets all objects have come so much earlier, since a server tells times by the second.
func (s *Server) Age(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, bucket := range s.buckets {
		for _, o := range bucket {
			o.Modified = o.Modified.Add(-by)
		}
	}
}

// Freeze has lists show what is there now until Thaw, as those of a server that is late.
func (s *Server) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = map[string]map[string]*Object{}
	for name, bucket := range s.buckets {
		s.stale[name] = maps.Clone(bucket)
	}
}

// Thaw has lists show what is there.
func (s *Server) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = nil
}

// shown is what a list of a bucket shows.
func (s *Server) shown(bucket string) map[string]*Object {
	if s.stale != nil {
		return s.stale[bucket]
	}
	return s.buckets[bucket]
}

// Get returns an object, nil where there is none.
func (s *Server) Get(bucket, key string) *Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buckets[bucket][key]
}

// Keys are the keys of a bucket, in order.
func (s *Server) Keys(bucket string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return listed(s.buckets[bucket], "", "")
}

// listed are the keys that begin with a prefix and come after one, in order.
func listed(all map[string]*Object, prefix, after string) []string {
	keys := []string{}
	for k := range all {
		if strings.HasPrefix(k, prefix) && k > after {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func (s *Server) object(data []byte, etag string, h http.Header) *Object {
	kept := http.Header{}
	for k, v := range h {
		if l := strings.ToLower(k); strings.HasPrefix(l, "x-amz-meta-") || strings.HasPrefix(l, "x-amz-server-side") {
			kept[k] = v
		}
	}
	return &Object{Data: data, ETag: etag, Modified: time.Now().Truncate(time.Second), Header: kept}
}

func etagOf(data []byte) string {
	sum := md5.Sum(data)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	fail := s.fault
	s.log = append(s.log, strings.TrimSpace(r.Method+" "+key+" "+r.URL.RawQuery))
	s.mu.Unlock()
	f := &Fault{}
	if fail != nil {
		if asked := fail(r); asked != nil {
			f = asked
		}
	}
	if f.Deaf > 0 {
		_, _ = io.CopyN(io.Discard, r.Body, int64(f.Deaf))
		<-s.over // nothing reports a closed client while its body is not read
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if f.Wait > 0 {
		select {
		case <-time.After(f.Wait):
		case <-r.Context().Done():
		}
	}
	switch {
	case f.Cut < 0:
		panic(http.ErrAbortHandler)
	case f.Status != 0 && s.google:
		refuseGS(w, f.Status, f.Code)
		return
	case f.Status != 0 && s.blocks != nil:
		refuseAz(w, f.Status, f.Code)
		return
	case f.Status != 0:
		refuse(w, f.Status, f.Code)
		return
	}
	answer := httptest.NewRecorder()
	switch {
	case s.google:
		s.serveGS(answer, r, body, f)
	case s.blocks != nil:
		s.serveAz(answer, r, body)
	default:
		s.serve(answer, r, bucket, key, body)
	}
	if f.Lose {
		panic(http.ErrAbortHandler)
	}
	for k, v := range answer.Header() {
		w.Header()[k] = v
	}
	if f.ETag != "" && answer.Header().Get("ETag") != "" {
		w.Header().Set("ETag", f.ETag)
	}
	if f.ETag != "" && answer.Header().Get("X-Goog-Generation") != "" {
		w.Header().Set("X-Goog-Generation", f.ETag)
	}
	w.WriteHeader(answer.Code)
	text := answer.Body.Bytes()
	if f.Cut > 0 && len(text) > f.Cut {
		w.Write(text[:f.Cut])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	if f.Hush > 0 && len(text) > f.Hush {
		w.Write(text[:f.Hush])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	w.Write(text)
}

// refuse answers with an error, whose text holds what no message of the program may.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w,
		"<Error><Code>%s</Code><Message>the server says %s</Message><AWSAccessKeyId>%s</AWSAccessKeyId></Error>", code,
		SecretKey, AccessKey)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, bucket, key string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	all, ok := s.buckets[bucket]
	switch auth := r.Header.Get("Authorization"); {
	case !strings.Contains(auth, "Credential="+AccessKey+"/"):
		refuse(w, http.StatusForbidden, "InvalidAccessKeyId")
		return
	case !ok:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	case !intact(r, body):
		refuse(w, http.StatusBadRequest, "BadDigest")
		return
	}
	there := all[key]
	switch {
	case r.Method == http.MethodGet && q.Has("uploadId"):
		s.ofUpload(w, r, all, there, key, body)
	case r.Method == http.MethodGet && key == "":
		s.list(w, s.shown(bucket), q.Get("prefix"), q.Get("continuation-token"))
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		get(w, r, there)
	case r.Method == http.MethodPost && q.Has("uploads"):
		s.serial++
		id := fmt.Sprintf("upload-%d", s.serial)
		s.uploads[id] = &pending{bucket, key, r.Header.Clone(), map[int][]byte{}}
		answerXML(w, struct {
			XMLName               xml.Name `xml:"InitiateMultipartUploadResult"`
			Bucket, Key, UploadId string
		}{Bucket: bucket, Key: key, UploadId: id})
	case q.Has("uploadId"):
		s.ofUpload(w, r, all, there, key, body)
	case r.Method == http.MethodPut:
		if code := conditionStatus(r, there); code != 0 {
			refuse(w, code, "PreconditionFailed")
			return
		}
		all[key] = s.object(body, etagOf(body), r.Header)
		w.Header().Set("ETag", all[key].ETag)
	case r.Method == http.MethodDelete:
		delete(all, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusNotImplemented, "NotImplemented")
	}
}

func (s *Server) ofUpload(w http.ResponseWriter, r *http.Request, all map[string]*Object, there *Object, key string,
	body []byte) {
	q := r.URL.Query()
	up := s.uploads[q.Get("uploadId")]
	if up == nil || up.key != key {
		refuse(w, http.StatusNotFound, "NoSuchUpload")
		return
	}
	switch r.Method {
	case http.MethodGet:
		listParts(w, up)
	case http.MethodPut:
		n, _ := strconv.Atoi(q.Get("partNumber"))
		up.parts[n] = body
		w.Header().Set("ETag", etagOf(body))
		w.Header().Set("x-amz-checksum-crc32", r.Header.Get("x-amz-checksum-crc32"))
	case http.MethodDelete:
		delete(s.uploads, q.Get("uploadId"))
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPost:
		var request struct {
			Part []struct {
				PartNumber int
				ETag       string
			}
		}
		if err := xml.Unmarshal(body, &request); err != nil || len(request.Part) == 0 {
			refuse(w, http.StatusBadRequest, "MalformedXML")
			return
		}
		if code := conditionStatus(r, there); code != 0 {
			refuse(w, code, "PreconditionFailed")
			return
		}
		var data, sums []byte
		for i, p := range request.Part {
			part, ok := up.parts[p.PartNumber]
			if !ok || etagOf(part) != p.ETag || i+1 < len(request.Part) && len(part) < 5<<20 {
				refuse(w, http.StatusBadRequest, "InvalidPart")
				return
			}
			sum := md5.Sum(part)
			data, sums = append(data, part...), append(sums, sum[:]...)
		}
		etag := strings.TrimSuffix(etagOf(sums), `"`) + fmt.Sprintf(`-%d"`, len(request.Part))
		all[key] = s.object(data, etag, up.header)
		delete(s.uploads, q.Get("uploadId"))
		answerXML(w, struct {
			XMLName   xml.Name `xml:"CompleteMultipartUploadResult"`
			Key, ETag string
		}{Key: key, ETag: etag})
	}
}

func listParts(w http.ResponseWriter, up *pending) {
	type part struct {
		PartNumber, Size int
		ETag             string
	}
	out := struct {
		XMLName     xml.Name `xml:"ListPartsResult"`
		IsTruncated bool
		Part        []part
	}{}
	for n, data := range up.parts {
		out.Part = append(out.Part, part{n, len(data), etagOf(data)})
	}
	slices.SortFunc(out.Part, func(a, b part) int { return a.PartNumber - b.PartNumber })
	answerXML(w, out)
}

// conditionStatus returns the status for a condition that is not met, 0 if all are met.
func conditionStatus(r *http.Request, there *Object) int {
	if m := r.Header.Get("If-Match"); m != "" && (there == nil || there.ETag != m) {
		return http.StatusPreconditionFailed
	}
	if r.Header.Get("If-None-Match") == "*" && there != nil {
		return http.StatusPreconditionFailed
	}
	return 0
}

func get(w http.ResponseWriter, r *http.Request, o *Object) {
	if o == nil {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	if conditionStatus(r, o) != 0 {
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	answerWith(w, r, o)
}

// answerWith answers a GET or a HEAD with an object.
func answerWith(w http.ResponseWriter, r *http.Request, o *Object) {
	for k, v := range o.Header {
		w.Header()[k] = v
	}
	w.Header().Set("ETag", o.ETag)
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(len(o.Data)))
		w.Header().Set("Last-Modified", o.Modified.UTC().Format(http.TimeFormat))
		return
	}
	http.ServeContent(w, r, "", o.Modified, bytes.NewReader(o.Data))
}

// intact holds the body against the checksum that came with it.
func intact(r *http.Request, body []byte) bool {
	want := r.Header.Get("x-amz-checksum-crc32")
	if want == "" {
		return true
	}
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE(body))
	return base64.StdEncoding.EncodeToString(sum[:]) == want
}

func (s *Server) list(w http.ResponseWriter, all map[string]*Object, prefix, after string) {
	type content struct {
		Key, ETag, LastModified string
		Size                    int
	}
	out := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []content
	}{}
	keys := listed(all, prefix, after)
	for i, k := range keys {
		if i == s.PageSize {
			out.IsTruncated, out.NextContinuationToken = true, keys[i-1]
			break
		}
		o := all[k]
		out.Contents = append(out.Contents, content{k, o.ETag, o.Modified.UTC().Format(time.RFC3339), len(o.Data)})
	}
	answerXML(w, out)
}

func answerXML(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/xml")
	text, err := xml.Marshal(v)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Write(text)
}
