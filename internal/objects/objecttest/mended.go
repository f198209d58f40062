package objecttest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Mended is the address of a server that hands everything on to fake-gcs-server but two
// requests that version 1.56 takes for others: the question how much of an upload is there
// ("bytes */*"), which it takes for the upload's end, and the one that gives an upload up,
// which it forgets. host is HOST:PORT; what Mended returns is as well.
func Mended(t testing.TB, host string) string {
	t.Helper()
	var mu sync.Mutex
	persisted := map[string]int64{} // by upload; -1: given up
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, stretch := r.URL.Query().Get("upload_id"), r.Header.Get("Content-Range")
		mu.Lock()
		n := persisted[id]
		var from, to int64
		switch {
		case id == "":
		case r.Method == http.MethodDelete:
			persisted[id] = -1
		case strings.HasSuffix(stretch, "/*") && stretch != "bytes */*":
			if parsed, _ := fmt.Sscanf(stretch, "bytes %d-%d/*", &from, &to); parsed == 2 {
				persisted[id] = to + 1
			}
		}
		mu.Unlock()
		switch {
		case id != "" && (n < 0 || r.Method == http.MethodDelete):
			w.WriteHeader(499)
		case id != "" && stretch == "bytes */*":
			if n > 0 {
				w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", n-1))
			}
			w.WriteHeader(http.StatusPermanentRedirect)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}
