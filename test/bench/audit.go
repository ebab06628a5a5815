package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// auditPolicy lets the API server note each write to Deployments and ReplicaSets,
// and nothing else.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    verbs: [create, update, patch, delete]
    resources:
      - group: apps
        resources: [deployments, deployments/status, replicasets, replicasets/status]
  - level: None
`

// quietTime is how long nothing is written before a rollout counts as complete:
// beyond the engine's pauses between two writes of a status.
const quietTime = time.Second

// audit reads the API server's notes as they are written.
type audit struct {
	log    string
	offset int64
}

// newAudit makes a directory for the policy and the log, and returns the flags of
// the cluster that use them. The caller removes the directory.
func newAudit(directory string) (*audit, []string, error) {
	policy := filepath.Join(directory, "policy.yaml")
	a := &audit{log: filepath.Join(directory, "audit.log")}
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, nil, fmt.Errorf("write the audit policy: %w", err)
	}
	const flag = "--kube-apiserver-flag=--audit-"
	return a, []string{flag + "policy-file=" + policy, flag + "log-path=" + a.log}, nil
}

// write is one request that changes something, as the API server notes it.
type write struct {
	UserAgent string `json:"userAgent"`
	Verb      string `json:"verb"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// isDrivers reports whether a write comes from the controller that drives Deployments. All
// controllers of the controller manager are one user, but each has a name of its
// own at the end of its user agent.
func (w *write) isDrivers(account string) bool {
	return w.User.Username == account || strings.HasSuffix(w.UserAgent, "/deployment-controller")
}

// read returns the writes since the last call.
func (a *audit) read() (writes []write, err error) {
	file, err := os.Open(a.log)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.NewSectionReader(file, a.offset, 1<<40))
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	whole := content[:bytes.LastIndexByte(content, '\n')+1]
	a.offset += int64(len(whole))
	lines := bufio.NewScanner(bytes.NewReader(whole))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var w write
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		writes = append(writes, w)
	}
	return writes, lines.Err()
}

// readUntilQuiet returns the writes since the last call once there are no more.
func (a *audit) readUntilQuiet(ctx context.Context) (writes []write, err error) {
	for {
		if err := pause(ctx, quietTime); err != nil {
			return nil, err
		}
		more, err := a.read()
		if err != nil || len(more) == 0 {
			return writes, err
		}
		writes = append(writes, more...)
	}
}

// tally is how many writes one rollout took.
type tally struct{ replicaSets, status, conflicts int }

func (t tally) total() int { return t.replicaSets + t.status + t.conflicts }

// count counts the driver's writes. A conflict counts as that only.
func count(writes []write, account string) (t tally, err error) {
	for i := range writes {
		w := &writes[i]
		if !w.isDrivers(account) {
			continue
		}
		resource := w.ObjectRef.Resource
		if w.ObjectRef.Subresource != "" {
			resource += "/" + w.ObjectRef.Subresource
		}
		switch code := w.ResponseStatus.Code; {
		case code == http.StatusConflict:
			t.conflicts++
		case code >= http.StatusBadRequest:
			return t, fmt.Errorf("%s %s was answered with %d", w.Verb, resource, code)
		case resource == "replicasets":
			t.replicaSets++
		case resource == "deployments/status":
			t.status++
		default:
			return t, fmt.Errorf("%s %s is no write of a rollout", w.Verb, resource)
		}
	}
	if t.total() == 0 {
		return t, errors.New("the audit log has no writes of the controller that drives Deployments")
	}
	return t, nil
}
