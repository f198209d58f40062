// Package gs is object storage by the JSON protocol of Google Cloud Storage: gs://BUCKET/KEY.
// Credentials are what Google's own programs find (GOOGLE_APPLICATION_CREDENTIALS, the file
// that gcloud writes, workload identities, the machine's service account).
// STORAGE_EMULATOR_HOST leads to a server that wants none.
//
// A state of an object is its generation, a number that every writing of its name raises
// and that takes the place of an ETag. An object in parts is a resumable upload: a session
// that takes the bytes in their order and whose last request makes the object, on the
// condition that was named when it began. The service forgets sessions after a week. Who
// knows a session's name may add to it without any credentials.
package gs

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

func init() { objects.Register("gs", Open) }

// markKey is the metadata of an object by which a writer knows it again.
const markKey = "sdlfilter-writing"

type bucket struct {
	*client
	name   string
	exists atomic.Bool // the server has said that it is there
}

// Open looks for credentials and settings; it does not connect to the bucket.
func Open(ctx context.Context, name string) (objects.Bucket, error) {
	c, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	return &bucket{client: c, name: name}, nil
}

// object is what the server says of an object.
type object struct {
	Name       string            `json:"name"`
	Size       string            `json:"size"`
	Generation string            `json:"generation"`
	CRC32C     string            `json:"crc32c"`
	Updated    time.Time         `json:"updated"`
	Metadata   map[string]string `json:"metadata"`
}

const fields = "name,size,generation,crc32c,updated,metadata"

func (o *object) info() (objects.Info, error) {
	size, err := strconv.ParseInt(o.Size, 10, 64)
	if _, wrong := strconv.ParseUint(o.Generation, 10, 64); err != nil || wrong != nil || size < 0 || o.Name == "" {
		return objects.Info{}, errors.New("the server's answer is none of Cloud Storage's")
	}
	return objects.Info{Key: o.Name, Size: size, ETag: o.Generation, Modified: o.Updated, Mark: o.Metadata[markKey]}, nil
}

func (b *bucket) path(key string, q url.Values) string {
	return "/storage/v1/b/" + b.name + "/o/" + url.PathEscape(key) + "?" + q.Encode()
}

// ask sends a request and demands one of the statuses 200 to 299.
func (b *bucket) ask(ctx context.Context, r *request) (*answer, error) {
	a, err := b.send(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case a.status < 300:
		b.exists.Store(true)
		return a, nil
	case a.status == http.StatusNotFound:
		return nil, b.absent(ctx)
	}
	return nil, a.refused()
}

// absent tells an object that is not there from a bucket that is not: to both the server
// says the same.
func (b *bucket) absent(ctx context.Context) error {
	if b.exists.Load() {
		return objects.ErrAbsent
	}
	a,
		err := b.send(ctx,
		&request{method: http.MethodGet, path: b.listing(url.Values{"maxResults": {"1"}, "fields": {"nextPageToken"}})})
	switch {
	case err != nil:
		return err
	case a.status == http.StatusNotFound:
		return objects.ErrNoBucket
	case a.status < 300:
		b.exists.Store(true)
	}
	return objects.ErrAbsent // without the permission to list, this is unknown
}

func (b *bucket) listing(q url.Values) string {
	return "/storage/v1/b/" + b.name + "/o?" + q.Encode()
}

func (b *bucket) Head(ctx context.Context, key string) (objects.Info, error) {
	a, err := b.ask(ctx, &request{method: http.MethodGet, path: b.path(key, url.Values{"fields": {fields}})})
	if err != nil {
		return objects.Info{}, err
	}
	var o object
	if err := json.Unmarshal(a.text, &o); err != nil {
		o = object{} // also an unexpected answer
	}
	return o.info()
}

func (b *bucket) Get(ctx context.Context, key, etag string, offset, n int64) (io.ReadCloser, error) {
	q := url.Values{"alt": {"media"}}
	conditions(q, objects.Condition{ETag: etag})
	a, err := b.ask(ctx, &request{method: http.MethodGet, path: b.path(key, q), stream: true, header: map[string]string{
		"Range": fmt.Sprintf("bytes=%d-%d", offset, offset+n-1), "Accept-Encoding": "gzip",
	}})
	if err != nil {
		return nil, err
	}
	as, stored := a.header.Get("Content-Encoding"), a.header.Get("X-Goog-Stored-Content-Encoding")
	at := strings.HasPrefix(a.header.Get("Content-Range"), fmt.Sprintf("bytes %d-%d/", offset, offset+n-1))
	switch {
	case etag != "" && a.header.Get("X-Goog-Generation") != etag:
		err = objects.ErrCondition
	case as == "gzip" && stored != "" && stored != "gzip":
		err = errors.New("the server compresses its answers, so that ranges cannot be read")
	case a.length != n, a.status == http.StatusPartialContent && !at, a.status != http.StatusPartialContent && offset != 0:
		err = fmt.Errorf("the server gave other bytes than the %d that were asked for", n)
	}
	if err != nil {
		a.body.Close()
		return nil, err
	}
	return a.body, nil
}

func (b *bucket) List(ctx context.Context, prefix string, found func(objects.Info) error) error {
	q := url.Values{"prefix": {prefix}, "fields": {"items(name,size,generation,updated),nextPageToken"}}
	for {
		a, err := b.send(ctx, &request{method: http.MethodGet, path: b.listing(q)})
		switch {
		case err != nil:
			return err
		case a.status == http.StatusNotFound:
			return objects.ErrNoBucket
		case a.status >= 300:
			return a.refused()
		}
		b.exists.Store(true)
		var page struct {
			Items []object `json:"items"`
			Next  string   `json:"nextPageToken"`
		}
		if err := json.Unmarshal(a.text, &page); err != nil {
			return errors.New("the server's answer is none of Cloud Storage's")
		}
		for i := range page.Items {
			info, err := page.Items[i].info()
			if err != nil {
				return err
			}
			if err := found(info); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Set("pageToken", page.Next)
	}
}

// conditions has a request demand the generation that an object has, 0 where it must not be.
func conditions(q url.Values, c objects.Condition) {
	switch {
	case c.Absent:
		q.Set("ifGenerationMatch", "0")
	case c.ETag != "":
		q.Set("ifGenerationMatch", c.ETag)
	}
}

// writing is the address and the metadata of an object that is written.
func (b *bucket) writing(kind, key, mark, sum string, c objects.Condition) (path string, metadata []byte, err error) {
	q := url.Values{"uploadType": {kind}, "name": {key}, "fields": {fields}}
	conditions(q, c)
	if b.kms != "" {
		q.Set("kmsKeyName", b.kms)
	}
	metadata, err = json.Marshal(struct {
		Name        string            `json:"name"`
		ContentType string            `json:"contentType"`
		CRC32C      string            `json:"crc32c,omitempty"`
		Metadata    map[string]string `json:"metadata"`
	}{key, "application/octet-stream", sum, map[string]string{markKey: mark}})
	return "/upload/storage/v1/b/" + b.name + "/o?" + q.Encode(), metadata, err
}

// written is what an answer to a writing says; a bucket is all that can be missing.
func (b *bucket) written(ctx context.Context, r *request) (*answer, error) {
	a, err := b.send(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case a.status == http.StatusNotFound:
		return nil, objects.ErrNoBucket
	case a.status >= 300:
		return nil, a.refused()
	}
	b.exists.Store(true)
	return a, nil
}

func (b *bucket) Put(ctx context.Context, key string, data []byte, mark string, c objects.Condition) error {
	path, metadata, err := b.writing("multipart", key, mark, encoded(crc32.Checksum(data, castagnoli)), c)
	if err != nil {
		return err
	}
	boundary := rand.Text() // which no content holds
	head := fmt.Appendf(nil,
		"--%s\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n%s\r\n--%s\r\nContent-Type: application/octet-stream\r\n\r\n", boundary, metadata, boundary)
	_, err = b.written(ctx, &request{method: http.MethodPost, path: path, header: map[string]string{
		"Content-Type": "multipart/related; boundary=" + boundary,
	}, body: [][]byte{head, data, []byte("\r\n--" + boundary + "--\r\n")}})
	return err
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	_, err := b.ask(ctx, &request{method: http.MethodDelete, path: b.path(key, nil)})
	if errors.Is(err, objects.ErrAbsent) {
		return nil
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encoded(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}
