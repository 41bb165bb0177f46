from swapctl.app import main

main()
