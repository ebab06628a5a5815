package facts

import (
	"fmt"
	"regexp"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// ResumeCommand returns the command that ends a halt.
func ResumeCommand(h *gate.Halt) string {
	if gate.IsGroup(h.Config) || h.Config.Kind.IsPerPod() { // no annotation of these is read
		return "removing its entry " + gate.EntryOf(h.Config.String()) + " from the ConfigMap of halts"
	}
	source := h.Config.Source() // whose owner decides
	return fmt.Sprintf("kubectl restarts resume -n %s %s %s", source.Namespace, ConfigName(source), h.ID)
}

var annotateToResume = regexp.MustCompile(`kubectl annotate --overwrite -n (\S+) (\S+) ` + regexp.QuoteMeta(annotation.ResumeAnnotation) + `=([a-z0-9]+)`)

// OwnCommands returns a text of the controller with the command of the plugin that resumes a halt in place of kubectl's.
func OwnCommands(text string) string {
	return annotateToResume.ReplaceAllString(text, "kubectl restarts resume -n $1 $2 $3")
}

// lookCommand is what a command may consist of that the leader names: people paste it into a shell.
var lookCommand = regexp.MustCompile(`^kubectl (logs|describe pod) [a-z0-9. -]+$`)

// IsLookCommand reports whether a command is one that shows why a pod fails, and nothing else.
func IsLookCommand(command string) bool { return lookCommand.MatchString(command) }
