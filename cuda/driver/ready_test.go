package driver

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestADriverThatIsNotReady asks a driver that cannot initialise itself: again
// after a while if that may pass, and never if it may not.
func TestADriverThatIsNotReady(t *testing.T) {
	for code, passes := range map[Result]bool{802: true, 803: true, 999: true, ErrorNoDevice: false} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer, asked, loaded := code, 0, 0
				o := opener{load: func() (*Driver, error) {
					loaded++
					return &Driver{fn: Table{
						Init:             func(uint32) Result { asked++; return answer },
						DriverGetVersion: func(v *int32) Result { *v = MinVersion; return Success },
						GetErrorName:     func(Result, **byte) Result { return ErrorInvalidValue },
						GetErrorString:   func(Result, **byte) Result { return ErrorInvalidValue },
					}}, nil
				}}
				for range 5 { // one question, however often it is opened
					_, err := o.open()
					require.True(t, Is(err, code))
					require.Equal(t, passes, errors.Is(err, ErrNotReady))
				}
				assert.Equal(t, 1, asked)
				time.Sleep(retryInit)
				_, err := o.open()
				require.Error(t, err)
				answer = Success
				_, err = o.open()
				require.Error(t, err, "not before its time")
				time.Sleep(retryInit)
				d, err := o.open()
				assert.Equal(t, 1, loaded)
				if !passes {
					require.True(t, Is(err, code))
					assert.Equal(t, 1, asked)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, "13.0", d.Version())
				assert.Equal(t, 3, asked)
			})
		})
	}
}
