# SPDX-License-Identifier: GPL-2.0-or-later
# Completion of gpupass(1) for fish. What can stand where, gpupass itself says: see
# client/verbs/complete.c. fish quotes what it inserts.

function __gpupass_complete
    set -l current (commandline -ct)
    set -l word (string unescape -- $current; or printf '%s' $current)
    set -l lines (command gpupass complete -- (commandline -opc) "$word" 2>/dev/null)
    set -l before (string replace -r '^[a-z]+=?' '' -- "$lines[1]")
    set -l rest (string sub -s (math (string length -- "$before") + 1) -- "$word")
    switch "$lines[1]"
        case words
            printf '%s\n' $lines[2..]
        case 'files=*'
            printf "$before%s\n" (__fish_complete_path "$rest")
        case 'directories=*'
            printf "$before%s\n" (__fish_complete_directories "$rest")
        case 'hosts=*'
            printf "$before%s\n" (__fish_print_hostnames)
        case 'users=*'
            printf "$before%s\n" (__fish_complete_users)
    end
end

complete -c gpupass -f -a '(__gpupass_complete)'
