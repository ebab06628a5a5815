package test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
)

// auditPolicy makes the API server log who asked for what, but not the bodies, of
// all requests by ServiceAccounts. The cluster's own components use no ServiceAccounts.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts"]
  - level: None
`

// request is one that the API server answered.
type request struct {
	verb, resource, namespace, name string // the resource with its subresource
	account                         string
	manager                         string // of the fields that were written
	code                            int
	watches                         bool // it continues
}

func (r *request) isWrite() bool {
	return r.verb != "get" && r.verb != "list" && r.verb != "watch"
}

// isOfWorkloads reports whether it is about what the engine drives, and not an Event
// or a lease.
func (r *request) isOfWorkloads() bool {
	switch r.resource {
	case "deployments", "deployments/status", "replicasets":
		return true
	}
	return false
}

// requests returns what the controllers have asked for in the namespace so far.
func (s *scene) requests(matches func(*request) bool) []request {
	s.Helper()
	return s.requestsIn(s.namespace, matches)
}

// requestsIn is requests for another namespace.
func (s *scene) requestsIn(namespace string, matches func(*request) bool) []request {
	s.Helper()
	log, err := os.ReadFile(s.auditLog)
	s.must(err)
	var found []request
	for line := range bytes.Lines(log) {
		if !bytes.HasSuffix(line, []byte("\n")) || !bytes.Contains(line, []byte(namespace)) {
			continue // it is being written, or about another namespace
		}
		if r := s.parseRequest(line); r.namespace == namespace && matches(&r) {
			found = append(found, r)
		}
	}
	return found
}

func (s *scene) parseRequest(line []byte) request {
	s.Helper()
	var entry struct {
		Stage, Verb, RequestURI string
		User                    struct{ Username string }
		ObjectRef               struct{ Resource, Subresource, Namespace, Name string }
		ResponseStatus          struct{ Code int }
	}
	s.must(json.Unmarshal(line, &entry))
	uri, err := url.Parse(entry.RequestURI)
	s.must(err)
	r := request{
		verb: entry.Verb, resource: entry.ObjectRef.Resource, namespace: entry.ObjectRef.Namespace, name: entry.ObjectRef.Name,
		account: entry.User.Username, manager: uri.Query().Get("fieldManager"),
		code: entry.ResponseStatus.Code, watches: entry.Stage == "ResponseStarted",
	}
	if entry.ObjectRef.Subresource != "" {
		r.resource += "/" + entry.ObjectRef.Subresource
	}
	return r
}

// writes returns the writes to Deployments and ReplicaSets of the namespace.
func (s *scene) writes() []request {
	s.Helper()
	return s.requests(func(r *request) bool { return r.isWrite() && r.isOfWorkloads() })
}

// creations returns the attempts to create ReplicaSets in the namespace.
func (s *scene) creations() []request {
	s.Helper()
	return s.requests(func(r *request) bool { return r.verb == "create" && r.resource == "replicasets" })
}

// succeeded returns the requests that were carried out.
func succeeded(requests []request) (done []request) {
	for _, r := range requests {
		if r.code < http.StatusMultipleChoices {
			done = append(done, r)
		}
	}
	return done
}
