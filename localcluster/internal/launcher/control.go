package launcher

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// maxSocketPath is the longest path that every Unix takes for a socket (Linux 107 bytes, macOS 103).
const maxSocketPath = 100

// controlServer lets the other commands of the launcher reach a running `up` at the socket in its directory. Only the
// user who owns the directory can.
type controlServer struct {
	cluster *cluster
	stop    func() // asks for the end of the cluster; does not wait for it
	context context.Context
}

// serve listens at the socket until the returned function is called.
func (s controlServer) serve(layout Layout) (shutdown func(), err error) {
	listener, err := listenUnix(layout.socket())
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // ends by Close below, there is no other way
	return func() {
		_ = server.Close()
		_ = os.Remove(layout.socket()) // what is left is removed by the next `up`
	}, nil
}

func (s controlServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.cluster.statuses()) // fails only if the asker is gone
	})
	mux.HandleFunc("POST /stop", func(http.ResponseWriter, *http.Request) { s.stop() })
	mux.HandleFunc("POST /components/{name}/kill", s.command(func(m *member) error { return m.kill() }))
	// A start continues when its client loses patience, but not when the cluster stops.
	mux.HandleFunc("POST /components/{name}/start", s.command(func(m *member) error { return m.start(s.context) }))
	return mux
}

// command makes a handler that does something to a member. It answers with the member's status, or with the error as
// plain text.
func (s controlServer) command(do func(*member) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m, err := s.cluster.member(r.PathValue("name"))
		if err == nil {
			err = do(m)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(m.status()) // fails only if the asker is gone
	}
}

func listenUnix(path string) (net.Listener, error) {
	var listener *net.UnixListener
	err := withShortPath(path, func(short string) (err error) {
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // it knows only the short path
	return listener, nil
}

func dialUnix(path string) (net.Conn, error) {
	var connection net.Conn
	err := withShortPath(path, func(short string) (err error) {
		connection, err = net.Dial("unix", short)
		return err
	})
	return connection, err
}

// withShortPath calls use with a path that leads to the same socket and is short enough for one: where the path
// itself is too long, through a symbolic link in the folder for temporary files, which exists only during the call.
func withShortPath(path string, use func(short string) error) error {
	if len(path) <= maxSocketPath {
		return use(path)
	}
	folder, err := os.MkdirTemp("", "lc")
	if err != nil {
		return fmt.Errorf("create short way to the socket: %w", err)
	}
	defer os.RemoveAll(folder)
	link := filepath.Join(folder, "d")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		return fmt.Errorf("create short way to the socket: %w", err)
	}
	return use(filepath.Join(link, filepath.Base(path)))
}

// answers reports whether an `up` listens at the socket of the directory.
func answers(layout Layout) bool {
	connection, err := dialUnix(layout.socket())
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
