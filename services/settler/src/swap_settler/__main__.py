from swap_settler.app import main

main()
