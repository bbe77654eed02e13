//go:build linux

package environ

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// told is what a process of this test says of a variable that names a path.
const told = "CUZK_ENVIRON_TEST"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "tell" {
		_, _ = os.Stdout.WriteString("path=" + Path(told) + " temp=" + TempDir())
		return
	}
	os.Exit(m.Run())
}

func tell(t *testing.T, program string, attributes *syscall.SysProcAttr) string {
	t.Helper()
	cmd := exec.Command(program, "tell")
	cmd.SysProcAttr = attributes
	cmd.Env = []string{told + "=/chosen", "TMPDIR=/chosen"}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func TestPathsOfAnOrdinaryProcess(t *testing.T) {
	assert.Equal(t, "path=/chosen temp=/chosen", tell(t, os.Args[0], nil))
}

// Whoever starts a set-uid program chooses its environment, and gets no rights by
// it.
func TestPathsOfASetUIDProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a program that runs as another user")
	}
	const nobody = 65534
	folder, err := os.MkdirTemp("/var/tmp", "environ")
	require.NoError(t, err)
	defer os.RemoveAll(folder)
	require.NoError(t, os.Chmod(folder, 0o755))
	program := filepath.Join(folder, "program")
	content, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, content, 0o755))
	require.NoError(t, os.Chmod(program, 0o755|os.ModeSetuid))
	out := tell(t, program, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
	if strings.Contains(out, "/chosen") && strings.Contains(mountOf(t), "nosuid") {
		t.Skip("/var/tmp is mounted nosuid")
	}
	assert.Equal(t, "path= temp=/tmp", out)
}

func mountOf(t *testing.T) string {
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	return string(mounts)
}
