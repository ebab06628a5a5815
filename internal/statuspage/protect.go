package statuspage

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
)

// policy lets the pages load nothing but their own style sheet, script and icon, and no page frame them. The form of lists goes to the
// page itself, which only reads.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// protected answers only to requests for this machine by its own names. A web page on another site can
// make the browser send requests to a loopback address, and by changing what its own name resolves to,
// could read the answers; but the browser says for which name it asks.
func protected(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Cache-Control", "no-store")
		switch {
		case !IsLoopback(r.Host):
			http.Error(w, "this page answers only to localhost and loopback addresses", http.StatusForbidden)
			return
		case isFromElsewhere(r):
			http.Error(w, "this page answers only to itself", http.StatusForbidden)
			return
		}
		defer recovered(w, log)
		next.ServeHTTP(w, r)
	})
}

// IsLoopback reports whether a host, with or without a port, is localhost or a loopback address.
func IsLoopback(host string) bool {
	name := host
	if split, _, err := net.SplitHostPort(host); err == nil {
		name = split
	} else if inner, isBracketed := strings.CutPrefix(host, "["); isBracketed && strings.HasSuffix(inner, "]") {
		name = strings.TrimSuffix(inner, "]")
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// isFromElsewhere reports whether a page of another site wants to load something, rather than link to it.
// Browsers say so. A stream is nothing to link to, and frames load what they show.
func isFromElsewhere(r *http.Request) bool {
	site, mode, shownIn := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest")
	isLink := mode == "navigate" && (shownIn == "" || shownIn == "document") && !strings.HasSuffix(r.URL.Path, "/events")
	return site != "" && site != "same-origin" && site != "none" && !isLink
}

// recovered makes an internal error end one answer only. The log does not show the value, which may come from an
// object.
func recovered(w http.ResponseWriter, log *slog.Logger) {
	value := recover()
	switch value {
	case nil:
	case http.ErrAbortHandler:
		panic(value)
	default:
		log.Error("internal error while showing the status", "panic", fmt.Sprintf("%T", value))
		http.Error(w, "internal error", http.StatusInternalServerError)
	}
}
