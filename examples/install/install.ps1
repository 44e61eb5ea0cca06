# Puts the plugins and their configuration where containerd looks for them.
# A plugin that is running cannot be overwritten on Windows, but it can be renamed.
$ErrorActionPreference = 'Stop'
$bin = 'C:\Program Files\containerd\cni\bin'
$conf = 'C:\Program Files\containerd\cni\conf'
$from = $env:CONTAINER_SANDBOX_MOUNT_POINT
if (-not $from) { $from = $PSScriptRoot }

function Install-File($file, $dir) {
    New-Item -ItemType Directory -Force -Path $dir | Out-Null
    $target = Join-Path $dir $file.Name
    Get-ChildItem $dir -Filter "$($file.Name).old-*" | Remove-Item -Force -ErrorAction SilentlyContinue
    Copy-Item $file.FullName "$target.new" -Force
    if (Test-Path $target) { Move-Item $target "$target.old-$([guid]::NewGuid())" -Force }
    Move-Item "$target.new" $target -Force
}

Get-ChildItem (Join-Path $from 'plugins') -Filter *.exe | ForEach-Object { Install-File $_ $bin }
# Last: from then on the node takes pods.
Get-ChildItem $PSScriptRoot -Filter *.conflist | ForEach-Object { Install-File $_ $conf }
