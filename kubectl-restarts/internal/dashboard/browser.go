package dashboard

import (
	"fmt"
	"os/exec"
)

// opener returns the command that opens an address in the browser of the user.
func opener(system, address string) []string {
	switch system {
	case "darwin":
		return []string{"open", address}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", address}
	}
	return []string{"xdg-open", address}
}

// Open opens an address in the browser of the user of an operating system, by its name in Go. The channel gets an error if that
// fails; it is not closed.
func Open(system, address string) <-chan error {
	failed := make(chan error, 1)
	words := opener(system, address)
	command := exec.Command(words[0], words[1:]...)
	if err := command.Start(); err != nil {
		failed <- err
		return failed
	}
	go func() { // some browsers stay in the foreground
		if err := command.Wait(); err != nil {
			failed <- fmt.Errorf("%s: %w", words[0], err)
		}
	}()
	return failed
}
