// Package environ reads the environment variables that name a path. A process
// that was started with more rights than its user has (set-uid, set-gid, file
// capabilities) does not follow them: its user chose them.
package environ

import (
	"os"
	"syscall"
)

// secure is whether the process has more rights than whoever started it.
var secure = hasMoreRights()

// Secure reports whether paths of the environment are ignored.
func Secure() bool { return secure }

// Path is the value of a variable that names a path, "" if it is to be ignored.
func Path(name string) string {
	if secure {
		return ""
	}
	return os.Getenv(name)
}

// TempDir is os.TempDir, whatever TMPDIR says if that is to be ignored.
func TempDir() string {
	if secure {
		return "/tmp"
	}
	return os.TempDir()
}

func otherUser() bool {
	return syscall.Getuid() != syscall.Geteuid() || syscall.Getgid() != syscall.Getegid()
}
