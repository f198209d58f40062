package objecttest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// session is an upload of Google's protocol: bytes in their order, the last request makes
// the object.
type session struct {
	bucket, key, match string
	header             http.Header // metadata and key, as S3's headers
	data               []byte
	done               *Object
	givenUp            bool
}

// grain is what of a request that is not the last one is kept a multiple of.
const grain = 256 << 10

// NewGS starts a server as New does, of the protocol of Google Cloud Storage: what the
// program asks for and no more. It keeps to generations as conditions, forgets what is no
// multiple of 256 KiB, and gives tokens to who has SecretKey.
func NewGS(t testing.TB, buckets ...string) *Server {
	t.Helper()
	s := New(t, buckets...)
	s.google, s.sessions, s.token = true, map[string]*session{}, AccessKey+"-1"
	return s
}

// Expire ends the tokens that were given, and gives no new ones.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = ""
}

func castagnoli(data []byte) string {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// refuseGS answers as refuse does.
func refuseGS(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error": {"code": %d, "message": "the server says %s of %s", "errors": [{"reason": %q}]}}`, status,
		SecretKey, AccessKey, reason)
}

func (s *Server) serveGS(w http.ResponseWriter, r *http.Request, body []byte, f *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/token" {
		s.giveToken(w, body)
		return
	}
	if s.token == "" || r.Header.Get("Authorization") != "Bearer "+s.token {
		refuseGS(w, http.StatusUnauthorized, "authError")
		return
	}
	path, uploading := strings.CutPrefix(r.URL.EscapedPath(), "/upload")
	path, _ = strings.CutPrefix(path, "/storage/v1/b/")
	bucket, rest, _ := strings.Cut(path, "/o")
	key, _ := url.PathUnescape(strings.TrimPrefix(rest, "/"))
	all, ok := s.buckets[bucket]
	q := r.URL.Query()
	there := all[key]
	switch {
	case !ok:
		refuseGS(w, http.StatusNotFound, "notFound")
	case uploading && q.Has("upload_id"):
		s.ofSession(w, r, all, body, f)
	case uploading:
		s.writeGS(w, r, bucket, all, body)
	case key == "":
		s.listGS(w, all, q.Get("prefix"), q.Get("pageToken"))
	case there == nil:
		refuseGS(w, http.StatusNotFound, "notFound")
	case !matches(q.Get("ifGenerationMatch"), there):
		refuseGS(w, http.StatusPreconditionFailed, "conditionNotMet")
	case r.Method == http.MethodDelete:
		delete(all, key)
		w.WriteHeader(http.StatusNoContent)
	case q.Get("alt") == "media":
		w.Header().Set("X-Goog-Generation", there.ETag)
		w.Header().Set("X-Goog-Stored-Content-Encoding", "identity")
		http.ServeContent(w, r, "", there.Modified, bytes.NewReader(there.Data))
	default:
		answerJSON(w, resource(key, there))
	}
}

func (s *Server) giveToken(w http.ResponseWriter, body []byte) {
	form, _ := url.ParseQuery(string(body))
	if s.token == "" || form.Get("refresh_token") != SecretKey {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error": "invalid_grant", "error_description": "the server says %s"}`, SecretKey)
		return
	}
	answerJSON(w, map[string]any{"access_token": s.token, "token_type": "Bearer", "expires_in": 3600})
}

// matches evaluates a condition; "" means no condition, and "0" that no object exists.
func matches(match string, there *Object) bool {
	return match == "" || match == "0" && there == nil || there != nil && there.ETag == match
}

func resource(key string, o *Object) map[string]any {
	return map[string]any{
		"name": key, "size": strconv.Itoa(len(o.Data)), "generation": o.ETag,
		"updated":  o.Modified.UTC().Format(time.RFC3339Nano),
		"crc32c":   castagnoli(o.Data),
		"metadata": map[string]string{"sdlfilter-writing": o.Header.Get("X-Amz-Meta-Sdlfilter-Writing")},
	}
}

func (s *Server) objectGS(data []byte, h http.Header) *Object {
	s.serial++
	return &Object{Data: data, ETag: strconv.Itoa(1_700_000_000_000_000 + s.serial), Modified: time.Now(), Header: h}
}

// writeGS writes a whole object, or begins an upload.
func (s *Server) writeGS(w http.ResponseWriter, r *http.Request, bucket string, all map[string]*Object, body []byte) {
	q := r.URL.Query()
	text, data := body, []byte(nil)
	if q.Get("uploadType") == "multipart" {
		_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		var read [2][]byte
		for i := range read {
			part, wrong := parts.NextRawPart()
			if err != nil || wrong != nil {
				refuseGS(w, http.StatusBadRequest, "parseError")
				return
			}
			read[i], _ = io.ReadAll(part)
		}
		text, data = read[0], read[1]
	}
	var request struct {
		Name     string
		CRC32C   string
		Metadata map[string]string
	}
	if err := json.Unmarshal(text, &request); err != nil || request.Name == "" || request.Name != q.Get("name") {
		refuseGS(w, http.StatusBadRequest, "parseError")
		return
	}
	h := http.Header{}
	h.Set("X-Amz-Meta-Sdlfilter-Writing", request.Metadata["sdlfilter-writing"])
	h.Set("Kms-Key-Name", q.Get("kmsKeyName"))
	switch {
	case strings.Trim(q.Get("ifGenerationMatch"), "0123456789") != "":
		refuseGS(w, http.StatusBadRequest, "invalidParameter")
	case !matches(q.Get("ifGenerationMatch"), all[request.Name]):
		refuseGS(w, http.StatusPreconditionFailed, "conditionNotMet")
	case q.Get("uploadType") == "resumable":
		s.serial++
		id := fmt.Sprintf("session-%d", s.serial)
		s.sessions[id] = &session{bucket: bucket, key: request.Name, match: q.Get("ifGenerationMatch"), header: h}
		w.Header().Set("Location", s.URL+r.URL.Path+"?uploadType=resumable&upload_id="+id)
	case request.CRC32C != castagnoli(data):
		refuseGS(w, http.StatusBadRequest, "invalid")
	default:
		all[request.Name] = s.objectGS(data, h)
		answerJSON(w, resource(request.Name, all[request.Name]))
	}
}

// ofSession takes bytes, tells how many there are, or gives an upload up.
func (s *Server) ofSession(w http.ResponseWriter, r *http.Request, all map[string]*Object, body []byte, f *Fault) {
	up := s.sessions[r.URL.Query().Get("upload_id")]
	var from, to, total int64
	stretch := r.Header.Get("Content-Range")
	final := false
	switch {
	case up == nil || up.bucket+"/o" != strings.TrimPrefix(r.URL.Path, "/upload/storage/v1/b/"):
		refuseGS(w, http.StatusNotFound, "notFound")
		return
	case up.givenUp:
		w.WriteHeader(499)
		return
	case up.done != nil:
		answerJSON(w, resource(up.key, up.done))
		return
	case r.Method == http.MethodDelete:
		up.givenUp, up.data = true, nil
		w.WriteHeader(499)
		return
	case stretch == "bytes */*" && len(body) == 0:
		up.more(w)
		return
	}
	if n, _ := fmt.Sscanf(stretch, "bytes %d-%d/%d", &from, &to, &total); n >= 2 {
		final = n == 3
	} else if n, _ := fmt.Sscanf(stretch, "bytes */%d", &total); n == 1 {
		from, to, final = int64(len(up.data)), int64(len(up.data))-1, true
	} else {
		from = -1
	}
	has := int64(len(up.data))
	if from < 0 || from > has || to-from+1 != int64(len(body)) {
		refuseGS(w, http.StatusBadRequest, "invalid")
		return
	}
	up.data = append(up.data, body[min(has-from, int64(len(body))):]...)
	if f.Take > 0 || !final {
		keep := int64(len(up.data))
		if f.Take > 0 {
			keep = min(keep, has+int64(f.Take))
		}
		up.data = up.data[:keep/grain*grain]
		if f.Take > 0 {
			refuseGS(w, http.StatusServiceUnavailable, "backendError")
			return
		}
		up.more(w)
		return
	}
	switch {
	case int64(len(up.data)) != total, r.Header.Get("X-Goog-Hash") != "crc32c="+castagnoli(up.data):
		up.data = up.data[:has]
		refuseGS(w, http.StatusBadRequest, "invalid")
	case !matches(up.match, all[up.key]):
		refuseGS(w, http.StatusPreconditionFailed, "conditionNotMet")
	default:
		all[up.key] = s.objectGS(up.data, up.header)
		up.done = all[up.key]
		answerJSON(w, resource(up.key, up.done))
	}
}

// more answers with how many bytes there are.
func (up *session) more(w http.ResponseWriter) {
	if len(up.data) > 0 {
		w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(up.data)-1))
	}
	w.WriteHeader(http.StatusPermanentRedirect)
}

func (s *Server) listGS(w http.ResponseWriter, all map[string]*Object, prefix, after string) {
	keys := listed(all, prefix, after)
	out := map[string]any{}
	items := []any{}
	for i, k := range keys {
		if i == s.PageSize {
			out["nextPageToken"] = keys[i-1]
			break
		}
		items = append(items, resource(k, all[k]))
	}
	if len(items) > 0 {
		out["items"] = items
	}
	answerJSON(w, out)
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}
