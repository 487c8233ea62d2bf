#!/bin/sh
# Say in one sentence what this machine lacks to build reducekit, and how to get it.
# usage: tools/check_machine.sh [PYTHON]     status 0: nothing is missing
python=${1:-python3}
missing= packages=

lacks() {
    missing="${missing:+$missing, }$1"
    packages="${packages:+$packages }$2"
}

compiler=${CC:-$(command -v cc || command -v gcc || command -v clang)}
# $compiler may carry flags, so it is left to split.
{ [ -n "$compiler" ] && echo '#include <stdlib.h>' | $compiler -fsyntax-only -x c - 2>/dev/null; } \
    || lacks "a C compiler that works" "gcc libc6-dev"

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
case $version in
    "")
        lacks "Python 3.11 or newer ($python does not run)" "python3 python3-venv python3-dev" ;;
    2.* | 3.? | 3.10)
        lacks "Python 3.11 or newer ($python is $version; name another with PYTHON=python3.11)" \
            "python3.11 python3.11-venv python3.11-dev" ;;
    *)
        # Debian names the packages of a second Python after it: python3.13-venv.
        case ${python##*/} in
            python3.*) prefix=${python##*/} ;;
            *) prefix=python3 ;;
        esac
        "$python" -c 'import ensurepip, venv' 2>/dev/null \
            || lacks "Python's venv module" "$prefix-venv"
        include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
        [ -f "$include/Python.h" ] || lacks "Python's C headers (Python.h)" "$prefix-dev" ;;
esac

[ -n "$missing" ] || exit 0
echo "reducekit cannot be built here without $missing;" \
    "on Debian or Ubuntu: apt-get install $packages" >&2
exit 1
