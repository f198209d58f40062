package objecttest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"hash/crc64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// NewAz starts a server as New does, of the protocol of Azure: what the program asks for and no
// more. Blocks that no list has committed cannot be given up, and whoever writes an object removes
// those of all others, as there.
func NewAz(t testing.TB, containers ...string) *Server {
	t.Helper()
	s := New(t, containers...)
	s.blocks = map[string]map[string][]byte{}
	return s
}

// AzEnvironment is the variables that lead a program to a server of NewAz.
func AzEnvironment(url, account, secret string) map[string]string {
	return map[string]string{
		"AZURE_STORAGE_CONNECTION_STRING": "", "AZURE_STORAGE_SAS_TOKEN": "", "AZURE_STORAGE_ACCOUNT": account,
		"AZURE_STORAGE_KEY": base64.StdEncoding.EncodeToString([]byte(secret)), "AZURE_STORAGE_SERVICE_ENDPOINT": url,
	}
}

// UseAz has this process use a server of NewAz.
func UseAz(t *testing.T, url string) {
	t.Helper()
	use(t, AzEnvironment(url, AccessKey, SecretKey))
}

// refuseAz answers as refuse does.
func refuseAz(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("X-Ms-Error-Code", code)
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>the server says %s of %s</Message></Error>",
		code, SecretKey, AccessKey)
}

func (s *Server) serveAz(w http.ResponseWriter, r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, _, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "?")
	name, escaped, _ := strings.Cut(path, "/")
	key, _ := url.PathUnescape(escaped)
	all, ok := s.buckets[name]
	q, there := r.URL.Query(), all[key]
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	status, code := conditionAz(r, there)
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "SharedKey "+AccessKey+":"):
		refuseAz(w, http.StatusForbidden, "AuthenticationFailed")
	case !ok:
		refuseAz(w, http.StatusNotFound, "ContainerNotFound")
	case !intactAz(r, body):
		refuseAz(w, http.StatusBadRequest, "Crc64Mismatch")
	case key == "" && q.Get("comp") == "list":
		s.listAz(w, all, q.Get("prefix"), q.Get("marker"))
	case q.Get("comp") == "blocklist" && read:
		s.blocksAz(w, name+"/"+key, there)
	case q.Get("comp") == "block":
		if s.blocks[name+"/"+key] == nil {
			s.blocks[name+"/"+key] = map[string][]byte{}
		}
		s.blocks[name+"/"+key][q.Get("blockid")] = body
		w.WriteHeader(http.StatusCreated)
	case there == nil && (read || r.Method == http.MethodDelete):
		refuseAz(w, http.StatusNotFound, "BlobNotFound")
	case status != 0:
		refuseAz(w, status, code)
	case r.Method == http.MethodPut:
		s.putAz(w, r, name+"/"+key, all, key, body)
	case r.Method == http.MethodDelete:
		delete(all, key)
		w.WriteHeader(http.StatusAccepted)
	case read:
		getAz(w, r, there)
	}
}

// conditionAz is the answer to a condition that is not met; 0 if all are.
func conditionAz(r *http.Request, there *Object) (status int, code string) {
	if m := r.Header.Get("If-Match"); m != "" && (there == nil || there.ETag != m) {
		return http.StatusPreconditionFailed, "ConditionNotMet"
	}
	if r.Header.Get("If-None-Match") == "*" && there != nil {
		return http.StatusConflict, "BlobAlreadyExists"
	}
	return 0, ""
}

// azurePolynomial is that of the service's CRC-64, reversed.
var azurePolynomial = crc64.MakeTable(0x9A6C9329AC4BC9B5)

func intactAz(r *http.Request, body []byte) bool {
	want := r.Header.Get("X-Ms-Content-Crc64")
	sum := binary.LittleEndian.AppendUint64(nil, crc64.Checksum(body, azurePolynomial))
	return want == "" || want == base64.StdEncoding.EncodeToString(sum)
}

// putAz writes a whole object, or one of a list of blocks.
func (s *Server) putAz(w http.ResponseWriter, r *http.Request, at string, all map[string]*Object, key string,
	body []byte) {
	if r.URL.Query().Get("comp") == "blocklist" {
		var list struct{ Latest []string }
		if err := xml.Unmarshal(body, &list); err != nil {
			refuseAz(w, http.StatusBadRequest, "InvalidXmlDocument")
			return
		}
		body = nil
		for _, id := range list.Latest {
			block, ok := s.blocks[at][id]
			if !ok {
				refuseAz(w, http.StatusBadRequest, "InvalidBlockList")
				return
			}
			body = append(body, block...)
		}
	} else if r.Header.Get("X-Ms-Blob-Type") != "BlockBlob" {
		refuseAz(w, http.StatusBadRequest, "InvalidHeaderValue")
		return
	}
	delete(s.blocks, at)
	all[key] = s.objectAz(body, r.Header)
	w.Header().Set("ETag", all[key].ETag)
	w.WriteHeader(http.StatusCreated)
}

// objectAz is an object with an ETag of its own, whatever its content.
func (s *Server) objectAz(data []byte, h http.Header) *Object {
	s.serial++
	kept := http.Header{}
	for k, v := range h {
		if strings.HasPrefix(strings.ToLower(k), "x-ms-meta-") {
			kept[k] = v
		}
	}
	return &Object{Data: data, ETag: fmt.Sprintf("\"0x%X\"", 0x8DD000000000000+s.serial), Modified: time.Now(),
		Header: kept}
}

func getAz(w http.ResponseWriter, r *http.Request, o *Object) {
	r.Header.Set("Range", r.Header.Get("X-Ms-Range"))
	r.Header.Del("If-Match") // is met
	answerWith(w, r, o)
}

// blocksAz lists the blocks of an object that no list has committed.
func (s *Server) blocksAz(w http.ResponseWriter, at string, there *Object) {
	type block struct {
		Name string
		Size int
	}
	if there == nil && len(s.blocks[at]) == 0 {
		refuseAz(w, http.StatusNotFound, "BlobNotFound")
		return
	}
	out := struct {
		XMLName           xml.Name `xml:"BlockList"`
		UncommittedBlocks struct{ Block []block }
	}{}
	for id, data := range s.blocks[at] {
		out.UncommittedBlocks.Block = append(out.UncommittedBlocks.Block, block{id, len(data)})
	}
	answerXML(w, out)
}

func (s *Server) listAz(w http.ResponseWriter, all map[string]*Object, prefix, after string) {
	keys := listed(all, prefix, after)
	w.Header().Set("Content-Type", "application/xml")
	io.WriteString(w, "<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults><Blobs>")
	next := ""
	for i, k := range keys {
		if i == s.PageSize {
			next = keys[i-1]
			break
		}
		io.WriteString(w, "<Blob><Name>")
		xml.EscapeText(w, []byte(k))
		fmt.Fprintf(w,
			"</Name><Properties><Etag>%s</Etag><Last-Modified>%s</Last-Modified><Content-Length>%d</Content-Length></Properties></Blob>",
			strings.Trim(all[k].ETag, `"`), all[k].Modified.UTC().Format(http.TimeFormat), len(all[k].Data))
	}
	io.WriteString(w, "</Blobs><NextMarker>")
	xml.EscapeText(w, []byte(next))
	io.WriteString(w, "</NextMarker></EnumerationResults>")
}
